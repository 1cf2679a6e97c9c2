#include "report/page.h"

#include <algorithm>

#include "base/must.h"
#include "report/page_content.h"
#include "report/page_skeleton.h"

namespace shardsim {

std::string page_html(std::string_view page, std::string_view title, const std::string& content,
                      const std::string& json) {
  const std::span<const PageSkeleton> all = page_skeletons();
  const auto skeleton = std::find_if(all.begin(), all.end(),
                                     [&](const PageSkeleton& one) { return one.page == page; });
  must(skeleton != all.end(), "every page has a skeleton");
  std::string html;
  for (const PagePart& part : skeleton->parts) {
    html += part.text;
    switch (part.slot) {
      case PageSlot::title:
        html += html_text(title);
        break;
      case PageSlot::content:
        html += content;
        break;
      case PageSlot::data:
        html += json;
        break;
      case PageSlot::end:
        break;
    }
  }
  return html;
}

std::string timeline_page(const PageData& data) {
  const bool one = data.runs.size() == 1;
  const std::string content =
      heading(data.title) +
      (one ? result_content(data.runs.front()) : comparison_content(data.runs)) +
      command_content(data.command);
  return page_html(data.page, data.title, content, page_json(data));
}

std::string index_page(const Json& summary, const std::vector<WrittenFile>& files,
                       const std::string& command) {
  const std::string title = text_at(summary, "name");
  std::string links = "<h2>Files</h2>\n<ul>\n";
  for (const WrittenFile& file : files) {
    links += "<li><a href=\"" + html_text(file.name) + "\">" + html_text(file.name) +
             "</a>: " + html_text(file.help) + "</li>\n";
  }
  links += "</ul>\n";
  return page_html("index", title,
                   heading(title) + links + command_content(command) + summary_content(summary),
                   "{}");
}

}  // namespace shardsim
