// Text: what messages need of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardsim {

// Bytes of the UTF-8 character that starts at text[at]; 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// Characters, not bytes; a byte that belongs to none counts as one.
std::size_t characters(std::string_view text);
// At most so many characters, the last of them "…" where some are left out. REQUIRES: most > 0.
std::string shortened(std::string_view text, std::size_t most);

// In double quotes, cut to 60 bytes (never inside a character): "\"12abc\"".
std::string in_quotes(std::string_view text);

// "90 GB/s" of " 90 GB/s\n".
std::string_view trimmed(std::string_view text);

}  // namespace shardsim
