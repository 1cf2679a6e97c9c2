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
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> v = nullptr;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool b) : v(b) {}
  Json(int i) : v(static_cast<std::int64_t>(i)) {}
  Json(std::int64_t i) : v(i) {}
  Json(double d) : v(d) {}
  Json(const char* s) : v(std::string(s)) {}
  Json(std::string s) : v(std::move(s)) {}
  Json(Array a) : v(std::move(a)) {}
  Json(Object o) : v(std::move(o)) {}
  Json(const std::vector<std::string>& list);
};

// Text with a trailing newline; indent < 0: one line. Strings that are not UTF-8 are replaced byte by
// byte (json.cpp is the door to nlohmann-json).
std::string to_json(const Json& value, int indent = 2);

}  // namespace shardsim
