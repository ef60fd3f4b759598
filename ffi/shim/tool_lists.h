// Lists of tools that requests declare.
#pragma once

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

// A list of tools: what the parser of calls reads of them, and what templates get; none: the same.
struct tool_list {
    std::vector<common_chat_tool> parsed;
    std::shared_ptr<template_tools> shown;
};

// Lists of tools by their JSON texts, the latest first: a conversation repeats its list in each request.
class tool_lists {
  public:
    tool_list read(const common_json & request) {
        if (!request.contains("tools")) return {};
        if (!request.at("tools").is_string()) return {common_chat_tools_parse_oaicompat(request.at("tools")), nullptr};
        constexpr size_t recent_max = 4;
        std::pair<std::string, std::string> texts = {request.at("tools").get<std::string>(), request.at("template_tools").get<std::string>()};
        const auto found = std::find_if(recent.begin(), recent.end(), [&](const auto & one) { return one.first == texts; });
        if (found != recent.end()) return found->second;
        tool_list read = {common_chat_tools_parse_oaicompat(common_json::parse(texts.first)), std::make_shared<template_tools>(texts.second)};
        recent.emplace_front(std::move(texts), std::move(read));
        if (recent.size() > recent_max) recent.pop_back();
        return recent.front().second;
    }

  private:
    std::deque<std::pair<std::pair<std::string, std::string>, tool_list>> recent;  // by both texts
};

}  // namespace svc
