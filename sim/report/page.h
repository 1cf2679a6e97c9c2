// Pages: single files that open from disk. What a page shows without JavaScript is made here, the
// rest is its data (report/page_data.h) and the templates' (report/page_skeleton.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"
#include "report/page_data.h"
#include "report/reports.h"

namespace shardsim {

// The page of that name. `content`: HTML; `json`: without `<`.
std::string page_html(std::string_view page, std::string_view title, const std::string& content,
                      const std::string& json);

// timeline.html of one run or schedule; of several, a page that compares them.
std::string timeline_page(const PageData& data);

// index.html. `summary`: summary.json of the run.
std::string index_page(const Json& summary, const std::vector<WrittenFile>& files,
                       const std::string& command);

}  // namespace shardsim
