#include "template_proof.h"

#include <algorithm>

namespace {

using svc::chat_messages;
using svc::content_forms;
using svc::message;

// A conversation, and words that the prompt must have.
struct trial_case {
    const char * part;
    chat_messages messages;
    bool tools;
    std::vector<std::string> words;
};

std::vector<trial_case> cases() {
    const common_chat_msg order = message("system", "Order1"), user = message("user", "Question1"), next = message("user", "Question2");
    const common_chat_msg answer = message("assistant", "Answer1");
    common_chat_msg call = message("assistant", "Announced1");
    call.tool_calls.push_back({"get_weather",
        R"({"city": "Ravenna", "days": 31415, "exact": true, "nothing": null, "ratio": 2.71875, "names": ["Oporto"], "box": {"w": 27182}})", "call00001"});
    common_chat_msg result = message("tool", "Overcast1");
    result.tool_name = "get_weather";
    result.tool_call_id = "call00001";
    const chat_messages finished = {order, user, call, result, answer, next}, running = {order, user, call, result};
    return {
        {"the user's message", {user}, false, {"Question1"}},
        {"the system message", {order, user}, false, {"Order1", "Question1"}},
        {"earlier turns", {order, user, answer, next}, false, {"Order1", "Question1", "Answer1", "Question2"}},
        {"the system message, with tools", {order, user}, true, {"Order1", "Question1"}},
        {"earlier turns, with tools", {user, answer, next}, true, {"Question1", "Answer1", "Question2"}},
        {"strings in arguments of calls", running, true, {"Ravenna"}},
        {"numbers in arguments of calls", running, true, {"31415", "2.71875"}},
        {"lists in arguments of calls", running, true, {"Oporto"}},
        {"objects in arguments of calls", running, true, {"27182"}},
        {"results of calls", running, true, {"Overcast1"}},
        {"text beside calls", running, true, {"Announced1"}},
        {"turns before calls", running, true, {"Order1", "Question1"}},
        {"calls of earlier turns", finished, true, {"Ravenna", "Overcast1", "Answer1", "Question2"}},
        {"text beside calls of earlier turns", finished, true, {"Announced1"}},
        {"calls without tools", finished, false, {"Ravenna", "Overcast1"}},
    };
}

// The text of a list of parts, which no prompt should have.
bool shows_parts(const std::string & prompt) {
    return prompt.find("'type': 'text'") != std::string::npos || prompt.find("\"type\": \"text\"") != std::string::npos;
}

class prover {
  public:
    explicit prover(const svc::trial_renderer & render) : render(render), all(cases()) {}

    std::vector<std::string> lost(const svc::template_manner & manner) const {
        svc::history history([&](const chat_messages & messages, bool tools) { return render(messages, tools, manner).prompt; });
        std::vector<std::string> out;
        const trial_case * last = nullptr;
        std::optional<std::string> prompt;
        for (const trial_case & one : all) {
            const bool same = last != nullptr && last->tools == one.tools && last->messages == one.messages;
            if (!same) prompt = render(history.shown(one.messages, one.tools), one.tools, manner).prompt;
            last = &one;
            const auto shown = [&](const std::string & word) { return prompt->find(word) != std::string::npos; };
            if (!prompt || shows_parts(*prompt) || !std::all_of(one.words.begin(), one.words.end(), shown)) out.push_back(one.part);
        }
        return out;
    }

    // Why neither a question nor one with a system message can be rendered, unless the template refuses them in its own words.
    std::string fault(const svc::template_manner & manner) const {
        const svc::trial first = render(all[0].messages, false, manner);
        const bool can = first.prompt || render(all[1].messages, false, manner).prompt;
        return can || first.reason.find("Template fault: ") == std::string::npos ? "" : first.reason;
    }

  private:
    const svc::trial_renderer & render;
    const std::vector<trial_case> all;
};

}  // namespace

svc::template_proof svc::proven(const trial_renderer & render) {
    const prover tries(render);
    template_proof best{{}, tries.lost({}), ""};
    if (best.lost.empty()) return best;
    best.fault = tries.fault(best.manner);
    for (const bool forgiving : {false, true}) {
        const std::optional<content_forms> all[] = {std::nullopt, content_forms{false, false}, content_forms{true, true}, content_forms{true, false}, content_forms{false, true}};
        for (const auto & forms : all) {
            if (!forms && !forgiving) continue;  // the default manner, tried above
            const template_manner manner{forms, forgiving};
            std::vector<std::string> lost = tries.lost(manner);
            std::string fault = lost.empty() ? "" : tries.fault(manner);
            const bool better = fault.empty() != best.fault.empty() ? fault.empty() : lost.size() < best.lost.size();
            if (better) best = {manner, std::move(lost), std::move(fault)};
            if (best.lost.empty()) return best;
        }
    }
    return best;
}
