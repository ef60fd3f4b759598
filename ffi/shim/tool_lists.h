// Lists of tools that requests declare.
#pragma once

#include "json_depth.h"
#include "template_marks.h"

#include "chat.h"
#include "json.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace svc {

// A list of tools: what the parser of calls reads of them, also as the chat library writes it, and what templates get; none: the same.
struct tool_list {
    std::vector<common_chat_tool> parsed;
    std::shared_ptr<const listed_tools> listed;
    std::shared_ptr<template_tools> shown;
};

// Lists of tools by their JSON texts, the latest first: a conversation repeats its list in each request.
class tool_lists {
  public:
    tool_list read(const common_json & request) {
        if (!request.contains("tools")) return {};
        if (!request.at("tools").is_string()) return {common_chat_tools_parse_oaicompat(request.at("tools")), nullptr, nullptr};
        constexpr size_t recent_max = 4;
        std::pair<std::string, std::string> texts = {request.at("tools").get<std::string>(), request.at("template_tools").get<std::string>()};
        const auto found = std::find_if(recent.begin(), recent.end(), [&](const auto & one) { return one.first == texts; });
        if (found != recent.end()) return found->second;
        check_depth(texts.first, "tools");
        check_depth(texts.second, "tools");
        tool_list read;
        read.shown = std::make_shared<template_tools>(texts.second);  // first: it begins to make values
        common_json list = common_json::parse(texts.first);
        read.parsed = common_chat_tools_parse_oaicompat(list);
        if (is_whole(list)) read.listed = std::make_shared<listed_tools>(listed_tools{std::move(list), texts.first});
        recent.emplace_front(std::move(texts), std::move(read));
        if (recent.size() > recent_max) recent.pop_back();
        return recent.front().second;
    }

  private:
    // Whether the chat library would write a list with the same members, in this order.
    static bool is_whole(const common_json & list) {
        for (size_t i = 0; i < list.size(); i++) {
            const common_json & tool = list.at(i);
            if (tool.size() != 2 || tool.begin().key() != "type" || !tool.contains("function")) return false;
            const common_json & function = tool.at("function");
            const auto name = function.begin();
            if (function.size() != 3 || name.key() != "name") return false;
            auto next = name;
            if ((++next).key() != "description" || (++next).key() != "parameters" || !function.at("description").is_string()) return false;
        }
        return true;
    }

    std::deque<std::pair<std::pair<std::string, std::string>, tool_list>> recent;  // by both texts
};

}  // namespace svc
