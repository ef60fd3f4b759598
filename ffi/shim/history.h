// Conversations in the form that a template can show.
#pragma once

#include "chat.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace svc {

using chat_messages = std::vector<common_chat_msg>;

inline common_chat_msg message(const std::string & role, const std::string & content) {
    common_chat_msg out;
    out.role = role;
    out.content = content;
    return out;
}

// Changes what a template refuses or leaves out, and nothing else. What the template is able to show is found out by
// rendering small conversations, the first time that a conversation needs to know. For one thread at a time.
//
//   a template that …                          gets …
//   has no calls of earlier turns              calls as JSON in the assistant's text, results as JSON of the user
//   has one call a message                     each call in a message of its own, followed by its result
//   loses the text beside calls                it in a message of its own before the calls, or at the beginning of the turn's answer
//   loses the text beside reasoning            no reasoning of earlier turns
//   takes one system message                   all at the beginning as one
//   takes none later on                        later ones as the user's
//   takes none without another message         it as the user's
//   begins with the user                       an empty message of the user before the assistant's
//   wants roles to take turns                  messages of one role in a row as one
//   wants an answer after results              "Noted." of the assistant before the user's next message
//   loses the system message after results     its text before the first message of the user
class history {
  public:
    // The prompt of a conversation, with or without tools declared; none if the template refuses it.
    using renderer = std::function<std::optional<std::string>(const chat_messages &, bool tools)>;

    explicit history(renderer render) : render(std::move(render)) {}

    chat_messages shown(chat_messages messages, bool tools);

  private:
    enum class ability { calls,
        parallel_calls,
        call_text,
        call_text_apart,
        reasoning,
        several_systems,
        late_system,
        system_alone,
        system_and_results,
        assistant_first,
        repeated_roles,
        question_after_result };

    renderer render;
    std::map<std::pair<ability, bool>, bool> known;

    bool can(ability what, bool tools);
    bool try_out(ability what, bool tools) const;
    bool shows(const chat_messages & messages, const std::vector<std::string> & words, bool tools) const;
};

}  // namespace svc
