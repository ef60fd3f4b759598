// Lists of tools that requests declare.
#pragma once

#include "chat.h"
#include "json.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace svc {

// Lists of tools by their JSON texts, the latest first: a conversation repeats its list in each request.
class tool_lists {
  public:
    const std::vector<common_chat_tool> & read(const std::string & text) {
        constexpr size_t recent_max = 4;
        const auto found = std::find_if(recent.begin(), recent.end(), [&](const auto & one) { return one.first == text; });
        if (found != recent.end()) return found->second;
        recent.emplace_front(text, common_chat_tools_parse_oaicompat(common_json::parse(text)));
        if (recent.size() > recent_max) recent.pop_back();
        return recent.front().second;
    }

  private:
    std::deque<std::pair<std::string, std::vector<common_chat_tool>>> recent;
};

}  // namespace svc
