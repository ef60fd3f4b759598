// Hooks in common/peg-parser.cpp: the text of a parser of answers has no nodes to which nothing leads, and one of equal nodes. References
// are resolved in those nodes alone.
//
// Upstream builds a sequence or a choice from its first child, and each further child makes a new node with all children so far. The
// choice among 1,000 tools leaves a thousand nodes with 500,000 children: four fifths of the text, which is written and read again. Of
// the 30 nodes of a call, 20 are white space and punctuation, the same for each tool.
#pragma once

#include "json.h"
#include "peg-parser.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace svc {

template <class Node, class Visit>
auto each_child_of(Node & node, const Visit & visit, int) -> decltype(visit(node.child)) {
    visit(node.child);
}

template <class Node, class Visit>
auto each_child_of(Node & node, const Visit & visit, int) -> decltype(visit(node.children.front())) {
    for (auto & child : node.children) visit(child);
}

template <class Node, class Visit>
void each_child_of(Node &, const Visit &, long) {}

template <class Parser, class Visit>
void each_child(Parser & parser, const Visit & visit) {
    std::visit([&](auto & node) { each_child_of(node, visit, 0); }, parser);
}

// What a node matches, as text; "" where equal nodes are too rare to look for. `number` is the one of a child.
template <class Number>
std::string node_key(const common_peg_parser_variant & parser, const Number & number) {
    const auto fields = [&](auto... parts) {
        std::string key = std::to_string(parser.index());
        ((key += ' ', key += parts), ...);
        return key;
    };
    const auto child = [&](common_peg_parser_id id) { return std::to_string(number(id)); };
    const auto children = [&](const std::vector<common_peg_parser_id> & ids) {
        std::string key;
        for (const common_peg_parser_id id : ids) key += child(id) + ',';
        return key;
    };
    return std::visit([&](const auto & p) -> std::string {
        using T = std::decay_t<decltype(p)>;
        if constexpr (std::is_empty_v<T>) {
            return fields();
        } else if constexpr (std::is_same_v<T, common_peg_literal_parser>) {
            return fields(p.literal);
        } else if constexpr (std::is_same_v<T, common_peg_sequence_parser> || std::is_same_v<T, common_peg_choice_parser>) {
            return fields(children(p.children));
        } else if constexpr (std::is_same_v<T, common_peg_repetition_parser>) {
            return fields(child(p.child), std::to_string(p.min_count), std::to_string(p.max_count));
        } else if constexpr (std::is_same_v<T, common_peg_and_parser> || std::is_same_v<T, common_peg_not_parser> || std::is_same_v<T, common_peg_atomic_parser>) {
            return fields(child(p.child));
        } else if constexpr (std::is_same_v<T, common_peg_tag_parser>) {
            return fields(child(p.child), p.tag);
        } else {
            return "";
        }
    },
        parser);
}

// The number of the first node that matches what a node does, for each node. Children are compared by these numbers where they come
// first, as most do; others by their own.
inline std::vector<common_peg_parser_id> first_equals(const std::vector<common_peg_parser_variant> & parsers, const std::vector<bool> & used) {
    std::vector<common_peg_parser_id> firsts(parsers.size());
    std::unordered_map<std::string, common_peg_parser_id> known;
    for (common_peg_parser_id id = 0; id < parsers.size(); id++) {
        firsts[id] = id;
        if (!used[id]) continue;
        std::string key = node_key(parsers[id], [&](common_peg_parser_id child) { return child < id ? firsts[child] : child; });
        if (!key.empty()) firsts[id] = known.try_emplace(std::move(key), id).first->second;
    }
    return firsts;
}

// Whether something leads to a node, for each node.
inline std::vector<bool> used_parsers(const std::vector<common_peg_parser_variant> & parsers,
    const std::unordered_map<std::string, common_peg_parser_id> & rules, common_peg_parser_id root) {
    std::vector<bool> used(parsers.size());
    std::vector<common_peg_parser_id> next;
    const auto use = [&](common_peg_parser_id id) {
        if (id >= used.size() || used[id]) return;
        used[id] = true;
        next.push_back(id);
    };
    use(root);
    for (const auto & [name, id] : rules) use(id);
    while (!next.empty()) {
        const common_peg_parser_id id = next.back();
        next.pop_back();
        each_child(parsers[id], use);
    }
    return used;
}

// A string in JSON.
inline std::string quoted(const std::string & text) {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    return std::all_of(text.begin(), text.end(), is_plain) ? '"' + text + '"' : common_json(text).dump();
}

// As the text of what `serialize` makes of a node, without a tree of JSON for those of which each tool has some.
template <class Serialize>
std::string node_text(const common_peg_parser_variant & parser, const Serialize & serialize) {
    const auto children = [](const char * type, const std::vector<common_peg_parser_id> & ids) {
        std::string list;
        for (const common_peg_parser_id id : ids) list += (list.empty() ? "" : ",") + std::to_string(id);
        return std::string("{\"type\":\"") + type + "\",\"children\":[" + list + "]}";
    };
    const auto truth = [](bool value) { return value ? "true" : "false"; };
    return std::visit([&](const auto & p) -> std::string {
        using T = std::decay_t<decltype(p)>;
        if constexpr (std::is_same_v<T, common_peg_literal_parser>) {
            return "{\"type\":\"literal\",\"literal\":" + quoted(p.literal) + '}';
        } else if constexpr (std::is_same_v<T, common_peg_sequence_parser>) {
            return children("sequence", p.children);
        } else if constexpr (std::is_same_v<T, common_peg_choice_parser>) {
            return children("choice", p.children);
        } else if constexpr (std::is_same_v<T, common_peg_atomic_parser>) {
            return "{\"type\":\"atomic\",\"child\":" + std::to_string(p.child) + '}';
        } else if constexpr (std::is_same_v<T, common_peg_tag_parser>) {
            return "{\"type\":\"tag\",\"child\":" + std::to_string(p.child) + ",\"tag\":" + quoted(p.tag) + '}';
        } else if constexpr (std::is_same_v<T, common_peg_schema_parser>) {
            return "{\"type\":\"schema\",\"child\":" + std::to_string(p.child) + ",\"name\":" + quoted(p.name) + ",\"raw\":" + truth(p.raw) + '}';
        } else if constexpr (std::is_same_v<T, common_peg_rule_parser>) {
            return "{\"type\":\"rule\",\"name\":" + quoted(p.name) + ",\"child\":" + std::to_string(p.child) + ",\"trigger\":" + truth(p.trigger) + '}';
        } else {
            return serialize(parser).dump();
        }
    },
        parser);
}

// As the text of common_peg_arena::to_json(), with other numbers. `serialize` makes the JSON of one parser.
template <class Serialize>
std::string parser_text(const std::vector<common_peg_parser_variant> & parsers,
    const std::unordered_map<std::string, common_peg_parser_id> & rules, common_peg_parser_id root, const Serialize & serialize) {
    const std::vector<bool> used = used_parsers(parsers, rules, root);
    const std::vector<common_peg_parser_id> firsts = first_equals(parsers, used);
    std::vector<common_peg_parser_id> numbers(parsers.size());
    common_peg_parser_id n = 0;
    for (size_t id = 0; id < parsers.size(); id++) numbers[id] = used[id] && firsts[id] == id ? n++ : numbers[firsts[id]];
    const auto renumber = [&](common_peg_parser_id & id) {
        if (id < numbers.size()) id = numbers[id];
    };

    std::string text = "{\"parsers\":[";
    bool first = true;
    for (size_t id = 0; id < parsers.size(); id++) {
        if (!used[id] || firsts[id] != id) continue;
        common_peg_parser_variant parser = parsers[id];
        each_child(parser, renumber);
        if (!std::exchange(first, false)) text += ',';
        text += node_text(parser, serialize);
    }
    std::unordered_map<std::string, common_peg_parser_id> renamed = rules;
    for (auto & [name, id] : renamed) renumber(id);
    renumber(root);
    return text + "],\"rules\":" + common_json(renamed).dump() + ",\"root\":" + common_json(root).dump() + "}";
}

}  // namespace svc
