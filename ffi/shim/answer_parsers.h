// Parsers of answers, made once for the requests of a conversation: with a thousand tools that takes 50 ms.
#pragma once

#include "chat.h"
#include "json.h"

#include <deque>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace svc {

inline std::shared_future<void> ready_future() {
    std::promise<void> now;
    now.set_value();
    return now.get_future().share();
}

// The parser of an answer. Equal numbers within a template set mean equal parsers; 0: the answer has none.
struct known_parser {
    std::shared_ptr<const common_chat_parser_params> params = std::make_shared<common_chat_parser_params>();
    std::shared_future<void> loaded = ready_future();  // before that, the parser in `params` may not be read; who waits first loads it
    uint64_t id = 0;
};

// The latest parsers of a template set, with what each was made from.
class answer_parsers {
  public:
    // later: a new one is loaded by the first call that waits for it.
    known_parser of(const common_chat_params & params, common_reasoning_format reasoning_format, bool calls, bool later) {
        constexpr size_t recent_max = 8;
        auto made = std::make_shared<common_chat_parser_params>(params);
        made->reasoning_format = reasoning_format;
        made->parse_tool_calls = calls;
        if (params.parser.empty()) return {made, ready_future(), 0};
        for (const auto & [source, recent] : parsers) {
            if (source == params.parser && same_options(*recent.params, *made)) return recent;
        }
        std::shared_future<void> loaded = std::async(std::launch::deferred, [made, text = params.parser] { load(made->parser, text); }).share();
        if (!later) loaded.get();
        parsers.push_front({params.parser, {made, loaded, ++count}});
        if (parsers.size() > recent_max) parsers.pop_back();
        return parsers.front().second;
    }

  private:
    std::deque<std::pair<std::string, known_parser>> parsers;  // the latest first
    uint64_t count = 0;

    // A parser for which a call may have no arguments: formats that write each argument apart want one, also of tools that require none.
    static void load(common_peg_arena & out, const std::string & text) {
        if (text.find("\"tool-arg\"") == std::string::npos) {  // arguments are one value
            out.load(text);
            return;
        }
        common_json arena = common_json::parse(text);
        common_json & nodes = arena.at("parsers");
        for (size_t i = 0, n = nodes.size(); i < n; i++) {
            if (nodes[i].value("tag", "") != "tool-args" || !has_argument(nodes, i)) continue;
            common_json optional = {{"type", "repetition"}, {"child", nodes[i].at("child")}, {"min_count", 0}, {"max_count", 1}};
            nodes[i]["child"] = nodes.size();
            nodes.push_back(std::move(optional));
        }
        out = common_peg_arena::from_json(arena);
    }

    // Whether a node of a parser consists of arguments, each apart.
    static bool has_argument(const common_json & nodes, size_t root) {
        std::vector<bool> seen(nodes.size());
        std::vector<size_t> next = {root};
        while (!next.empty()) {
            const size_t i = next.back();
            next.pop_back();
            if (i >= seen.size() || seen[i]) continue;
            seen[i] = true;
            const common_json & node = nodes.at(i);
            if (node.value("tag", "") == "tool-arg") return true;
            if (node.contains("child")) next.push_back(node.at("child").get<size_t>());
            if (!node.contains("children")) continue;
            for (size_t k = 0; k < node.at("children").size(); k++) next.push_back(node.at("children").at(k).get<size_t>());
        }
        return false;
    }

    static bool same_options(const common_chat_parser_params & a, const common_chat_parser_params & b) {
        return a.format == b.format && a.reasoning_format == b.reasoning_format &&
            a.generation_prompt == b.generation_prompt && a.parse_tool_calls == b.parse_tool_calls;
    }
};

}  // namespace svc
