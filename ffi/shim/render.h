// What the sampler may know of a rendered prompt.
#pragma once

#include "chat.h"

namespace svc {

// The parameters that llama.cpp's templates gave for a prompt. Throws when the handle is NULL.
const common_chat_params & render_params(void * rendered);

}  // namespace svc
