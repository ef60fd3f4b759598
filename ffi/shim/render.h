// What the shim's other files may know of a rendered prompt.
#pragma once

#include "chat.h"

#include <memory>

namespace svc {

// The parameters that llama.cpp's templates gave for a prompt; they may outlive it. Throws when the handle is NULL.
std::shared_ptr<const common_chat_params> render_params(void * rendered);

struct media_prompt;
// Its pictures and recordings, which may outlive it; none: nullptr. Throws likewise.
std::shared_ptr<media_prompt> render_media(void * rendered);

}  // namespace svc
