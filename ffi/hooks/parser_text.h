// Hook in common/peg-parser.cpp: the text of a parser of answers has no nodes to which nothing leads.
//
// Upstream builds a sequence or a choice from its first child, and each further child makes a new node with all children so far. The
// choice among 1,000 tools leaves a thousand nodes with 500,000 children: four fifths of the text, which is written and read again.
#pragma once

#include "json.h"
#include "peg-parser.h"

#include <string>
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

// As the text of common_peg_arena::to_json(), with other numbers. `serialize` makes the JSON of one parser.
template <class Serialize>
std::string parser_text(const std::vector<common_peg_parser_variant> & parsers,
    const std::unordered_map<std::string, common_peg_parser_id> & rules, common_peg_parser_id root, const Serialize & serialize) {
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

    std::vector<common_peg_parser_id> numbers(parsers.size());
    common_peg_parser_id n = 0;
    for (size_t id = 0; id < parsers.size(); id++) numbers[id] = used[id] ? n++ : n;
    const auto renumber = [&](common_peg_parser_id & id) {
        if (id < numbers.size()) id = numbers[id];
    };

    std::string text = "{\"parsers\":[";
    bool first = true;
    for (size_t id = 0; id < parsers.size(); id++) {
        if (!used[id]) continue;
        common_peg_parser_variant parser = parsers[id];
        each_child(parser, renumber);
        if (!std::exchange(first, false)) text += ',';
        text += serialize(parser).dump();
    }
    std::unordered_map<std::string, common_peg_parser_id> renamed = rules;
    for (auto & [name, id] : renamed) renumber(id);
    renumber(root);
    return text + "],\"rules\":" + common_json(renamed).dump() + ",\"root\":" + common_json(root).dump() + "}";
}

}  // namespace svc
