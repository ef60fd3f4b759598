// The trial of a chat template: whether it shows every part of a conversation.
#pragma once

#include "history.h"
#include "template_marks.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace svc {

struct template_proof {
    template_manner manner;  // in which the least is lost
    std::vector<std::string> lost;  // what no form shows, for the operator: "the system message, with tools"
    std::string fault;  // why not even a question can be rendered; empty: it can
};

// A prompt, or the reason for none.
struct trial {
    std::optional<std::string> prompt;
    std::string reason;
};

// `render` gives the prompt of a conversation in a manner, as it would be for a request.
using trial_renderer = std::function<trial(const chat_messages &, bool tools, const template_manner & manner)>;
template_proof proven(const trial_renderer & render);

}  // namespace svc
