// Json: a JSON document as a plain tree; keys keep their order. NaN and infinity become null.
#pragma once

#include <cstdint>
#include <string>
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

}  // namespace shardsim
