// What pages show without JavaScript: headings, tables and lists as HTML. Everything that comes
// from a user's file is text there, whatever it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"

namespace shardsim {

// Escaped, for content and for attributes in double quotes; control characters are shown as \xNN.
std::string html_text(std::string_view text);

std::string heading(std::string_view title);              // <h1>
std::string command_content(const std::string& command);  // "" for none
// The first row is the head; all but the first column are numbers. "" for a head alone.
std::string table_content(std::string_view caption,
                          const std::vector<std::vector<std::string>>& rows);

// Of a summary.json or an element of `schedule --format json`: its figures, ranks, collectives (the
// first kMostCollectivesShown, as it says) and assumptions; what it has of them.
std::string summary_content(const Json& summary);
// The same of an element of a page's "runs".
std::string result_content(const Json& run);
// Their figures beside each other.
std::string comparison_content(const Array& runs);

}  // namespace shardsim
