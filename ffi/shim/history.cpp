#include "history.h"

#include "json.h"

#include <algorithm>

namespace {

using svc::chat_messages;
using svc::message;

common_chat_msg calling(const std::vector<std::string> & cities) {
    common_chat_msg out = message("assistant", "");
    for (const auto & city : cities) {
        // Nine letters and digits: some templates take no other id.
        const std::string id = "call0000" + std::to_string(1 + out.tool_calls.size());
        out.tool_calls.push_back({"get_weather", "{\"city\": \"" + city + "\"}", id});
    }
    return out;
}

common_chat_msg result(int number, const std::string & text) {
    common_chat_msg out = message("tool", text);
    out.tool_name = "get_weather";
    out.tool_call_id = "call0000" + std::to_string(number);
    return out;
}

void append_text(std::string & to, const std::string & text) {
    if (!to.empty() && !text.empty()) to += "\n\n";
    to += text;
}

// Names of the functions that calls were of, by the ids of the calls.
std::map<std::string, std::string> called_names(const chat_messages & messages) {
    std::map<std::string, std::string> names;
    for (const auto & message : messages) {
        for (const auto & call : message.tool_calls) names[call.id] = call.name;
    }
    return names;
}

std::string call_text(const common_chat_tool_call & call) {
    common_json arguments = call.arguments;
    try {
        arguments = common_json::parse(call.arguments);
    } catch (const std::exception &) {
        // as the text it is
    }
    common_json out = common_json::object();
    out["name"] = call.name;
    out["arguments"] = arguments;
    return out.dump_safe();
}

chat_messages calls_as_text(chat_messages messages) {
    const auto names = called_names(messages);
    for (auto & message : messages) {
        for (const auto & call : message.tool_calls) append_text(message.content, call_text(call));
        message.tool_calls.clear();
        if (message.role != "tool") continue;
        const auto name = names.find(message.tool_call_id);
        common_json out = common_json::object();
        out["name"] = name == names.end() ? message.tool_name : name->second;
        out["result"] = message.content;
        message = svc::message("user", out.dump_safe());
    }
    return messages;
}

chat_messages calls_apart(const chat_messages & messages) {
    chat_messages out;
    for (size_t i = 0; i < messages.size(); i++) {
        const common_chat_msg & whole = messages[i];
        if (whole.tool_calls.size() < 2) {
            out.push_back(whole);
            continue;
        }
        size_t end = i + 1;
        while (end < messages.size() && messages[end].role == "tool") end++;
        std::vector<bool> taken(end - i);
        for (size_t call = 0; call < whole.tool_calls.size(); call++) {
            common_chat_msg part = call == 0 ? whole : message("assistant", "");
            part.tool_calls = {whole.tool_calls[call]};
            out.push_back(part);
            for (size_t j = i + 1; j < end; j++) {
                if (messages[j].tool_call_id != whole.tool_calls[call].id || taken[j - i]) continue;
                taken[j - i] = true;
                out.push_back(messages[j]);
            }
        }
        for (size_t j = i + 1; j < end; j++) {
            if (!taken[j - i]) out.push_back(messages[j]);
        }
        i = end - 1;
    }
    return out;
}

// The text beside calls in a message of its own before them.
chat_messages text_apart(const chat_messages & messages) {
    chat_messages out;
    for (const auto & whole : messages) {
        if (!whole.tool_calls.empty() && !whole.content.empty()) {
            out.push_back(message("assistant", whole.content));
            out.push_back(whole);
            out.back().content.clear();
        } else {
            out.push_back(whole);
        }
    }
    return out;
}

// The text beside calls at the beginning of the answer that ends the turn; that of a turn without an answer in a message of its own.
chat_messages text_in_answer(chat_messages messages) {
    for (size_t i = 0; i < messages.size(); i++) {
        if (messages[i].tool_calls.empty() || messages[i].content.empty()) continue;
        size_t end = i + 1;
        const auto goes_on = [](const auto & m) { return m.role == "tool" || (m.role == "assistant" && !m.tool_calls.empty()); };
        while (end < messages.size() && goes_on(messages[end])) end++;
        if (end == messages.size() || messages[end].role != "assistant") continue;
        std::string text;
        for (size_t j = i; j < end; j++) {
            if (messages[j].role != "assistant") continue;
            append_text(text, messages[j].content);
            messages[j].content.clear();
        }
        append_text(text, messages[end].content);
        messages[end].content = text;
    }
    return text_apart(messages);
}

bool is_system(const common_chat_msg & message) { return message.role == "system" || message.role == "developer"; }

size_t systems_before(const chat_messages & messages) {
    return std::find_if_not(messages.begin(), messages.end(), is_system) - messages.begin();
}

// Text goes into the message of calls behind it only where it is shown there.
chat_messages roles_in_turns(const chat_messages & messages, bool shows_call_text) {
    chat_messages out;
    for (const auto & message : messages) {
        const bool joins = !out.empty() && out.back().role == message.role && message.role != "tool" &&
            out.back().tool_calls.empty() && (shows_call_text || message.tool_calls.empty());
        if (!joins) {
            out.push_back(message);
            continue;
        }
        append_text(out.back().content, message.content);
        append_text(out.back().reasoning_content, message.reasoning_content);
        out.back().tool_calls = message.tool_calls;
    }
    return out;
}

bool repeats_roles(const chat_messages & messages) {
    const auto same = [](const auto & a, const auto & b) { return a.role == b.role && a.role != "tool"; };
    return std::adjacent_find(messages.begin(), messages.end(), same) != messages.end();
}

template <typename F>
bool any(const chat_messages & messages, F && test) {
    return std::any_of(messages.begin(), messages.end(), test);
}

}  // namespace

namespace svc {

bool history::shows(const chat_messages & messages, const std::vector<std::string> & words, bool tools) const {
    const auto text = render(messages, tools);
    if (!text) return false;
    return std::all_of(words.begin(), words.end(), [&](const auto & word) { return text->find(word) != std::string::npos; });
}

bool history::try_out(ability what, bool tools) const {
    const common_chat_msg user = message("user", "Question1"), answer = message("assistant", "Answer1");
    const common_chat_msg system = message("system", "Order1"), next = message("user", "Question2");
    const auto is_shown = [&](const chat_messages & messages, const std::vector<std::string> & words) {
        return shows(messages, words, tools);
    };
    switch (what) {
        case ability::calls:
            return is_shown({user, calling({"Ravenna"}), result(1, "Overcast1"), answer, next}, {"Ravenna", "Overcast1"});
        case ability::parallel_calls:
            return is_shown({user, calling({"Ravenna", "Coimbra"}), result(1, "Overcast1"), result(2, "Sunshine2"), answer, next},
                {"Ravenna", "Overcast1", "Coimbra", "Sunshine2"});
        case ability::call_text: {
            common_chat_msg announced = calling({"Ravenna"});
            announced.content = "Announced1";
            return is_shown({user, announced, result(1, "Overcast1")}, {"Announced1", "Ravenna"}) &&
                is_shown({user, announced, result(1, "Overcast1"), answer, next}, {"Announced1", "Ravenna"});
        }
        case ability::call_text_apart:
            return is_shown({user, message("assistant", "Announced1"), calling({"Ravenna"}), result(1, "Overcast1"), answer, next},
                {"Announced1", "Ravenna", "Overcast1", "Answer1", "Question2"});
        case ability::reasoning: {
            common_chat_msg thought = answer;
            thought.reasoning_content = "Pondering1";
            return is_shown({user, thought, next}, {"Answer1"}) || !is_shown({user, answer, next}, {"Answer1"});
        }
        case ability::several_systems:
            return is_shown({system, message("system", "Order2"), user}, {"Order1", "Order2"});
        case ability::late_system: // some templates show the last one only
            return is_shown({system, user, answer, message("system", "Order2"), next}, {"Order1", "Order2"});
        case ability::system_alone: return is_shown({system}, {"Order1"});
        case ability::system_and_results:
            return is_shown({system, user, calling({"Ravenna"}), result(1, "Overcast1")}, {"Order1"});
        case ability::question_after_result:
            return is_shown({user, calling({"Ravenna"}), result(1, "Overcast1"), next}, {"Overcast1", "Question2"});
        case ability::assistant_first: return is_shown({answer, user}, {"Answer1"});
        case ability::repeated_roles:
            return is_shown({user, next, answer, message("assistant", "Answer2"), user}, {"Question2", "Answer1", "Answer2"});
    }
    return true;
}

bool history::can(ability what, bool tools) {
    const auto place = known.emplace(std::make_pair(what, tools), true);
    if (place.second) place.first->second = try_out(what, tools);
    return place.first->second;
}

chat_messages history::shown(chat_messages messages, bool tools) {
    const bool calls = any(messages, [](const auto & m) { return !m.tool_calls.empty() || m.role == "tool"; });
    if (calls && !can(ability::calls, tools)) {
        messages = calls_as_text(std::move(messages));
    } else if (any(messages, [](const auto & m) { return m.tool_calls.size() > 1; }) && !can(ability::parallel_calls, tools)) {
        messages = calls_apart(messages);
    }
    const bool announces = any(messages, [](const auto & m) { return !m.tool_calls.empty() && !m.content.empty(); });
    if (announces && !can(ability::call_text, tools)) {
        messages = can(ability::call_text_apart, tools) ? text_apart(messages) : text_in_answer(std::move(messages));
    }
    if (any(messages, [](const auto & m) { return !m.reasoning_content.empty(); }) && !can(ability::reasoning, tools)) {
        for (auto & message : messages) message.reasoning_content.clear();
    }
    size_t systems = systems_before(messages);
    if (systems > 1 && !can(ability::several_systems, tools)) {
        for (size_t i = 1; i < systems; i++) append_text(messages[0].content, messages[i].content);
        messages.erase(messages.begin() + 1, messages.begin() + systems);
        systems = 1;
    }
    if (std::any_of(messages.begin() + systems, messages.end(), is_system) && !can(ability::late_system, tools)) {
        for (size_t i = systems; i < messages.size(); i++) {
            if (is_system(messages[i])) messages[i].role = "user";
        }
    }
    if (systems == 1 && calls && !can(ability::system_and_results, tools)) {
        const auto first = std::find_if(messages.begin(), messages.end(), [](const auto & m) { return m.role == "user"; });
        if (first != messages.end()) {
            std::string text = messages[0].content;
            append_text(text, first->content);
            first->content = text;
            messages.erase(messages.begin());
            systems = 0;
        }
    }
    for (size_t i = 1; i < messages.size(); i++) {
        const bool follows = messages[i - 1].role == "tool" && messages[i].role == "user";
        if (follows && !can(ability::question_after_result, tools)) messages.insert(messages.begin() + i, message("assistant", "Noted."));
    }
    if (systems == messages.size() && systems > 0 && !can(ability::system_alone, tools)) messages.back().role = "user";
    if (systems < messages.size() && messages[systems].role == "assistant" && !can(ability::assistant_first, tools)) {
        messages.insert(messages.begin() + systems, message("user", ""));
    }
    if (repeats_roles(messages) && !can(ability::repeated_roles, tools)) {
        messages = roles_in_turns(messages, !announces || can(ability::call_text, tools));
    }
    return messages;
}

}  // namespace svc
