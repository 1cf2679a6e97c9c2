// Json: a JSON document as a plain tree; keys keep their order. NaN and infinity become null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shardsim {

struct Json;
using Object = std::vector<std::pair<std::string, Json>>;
using Array = std::vector<Json>;

struct Json {
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> data =
      nullptr;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool b) : data(b) {}
  Json(int i) : data(static_cast<std::int64_t>(i)) {}
  Json(std::int64_t i) : data(i) {}
  Json(double d) : data(d) {}
  Json(const char* s) : data(std::string(s)) {}
  Json(std::string s) : data(std::move(s)) {}
  Json(Array a) : data(std::move(a)) {}
  Json(Object o) : data(std::move(o)) {}
  Json(const std::vector<std::string>& list);
};

// Text with a trailing newline; indent < 0: one line. Strings that are not UTF-8 are replaced byte
// by byte (json.cpp is the door to nlohmann-json).
std::string to_json(const Json& value, int indent = 2);
// The same on one line without the newline, behind `text`: a document of many parts is written part
// by part, and is never a tree as a whole.
void append_json(std::string& text, const Json& value);

// The value of a key of an object; nullptr when there is none.
const Json* find(const Json& value, std::string_view key);
// The same of a number or a text; nothing when it is none.
std::optional<double> number_at(const Json& value, std::string_view key);
std::string text_at(const Json& value, std::string_view key);  // "" when it is none

// A document that somebody else may have written. Whole numbers that fit are integers.
struct ParsedJson {
  Json value;
  std::string error;   // what was expected and found; empty: `value` is good
  std::size_t at = 0;  // byte where it is wrong
};
// Refuses more than 64 levels and keys named twice in one object.
ParsedJson parse_json(std::string_view text);

}  // namespace shardsim
