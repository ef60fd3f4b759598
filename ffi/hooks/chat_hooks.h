// Hooks in common/chat.cpp.
#pragma once

#include "template_cache.h"
#include "template_marks.h"
