// What the shim's other files may know of a rendered prompt.
#pragma once

#include <memory>

namespace svc {

struct media_prompt;
// Images and audio clips of a rendered prompt, which may outlive it; none: nullptr. Throws when the handle is NULL.
std::shared_ptr<media_prompt> render_media(void * rendered);

}  // namespace svc
