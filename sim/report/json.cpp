#include "report/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardsim {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered convert(const Json& value);

struct Converter {
  Ordered operator()(std::nullptr_t) const { return nullptr; }
  Ordered operator()(bool b) const { return b; }
  Ordered operator()(std::int64_t i) const { return i; }
  Ordered operator()(double d) const {
    if (!std::isfinite(d)) return nullptr;
    return d;
  }
  Ordered operator()(const std::string& s) const { return s; }
  Ordered operator()(const Array& array) const {
    Ordered result = Ordered::array();
    for (const Json& item : array) result.push_back(convert(item));
    return result;
  }
  Ordered operator()(const Object& object) const {
    Ordered result = Ordered::object();
    for (const auto& [key, item] : object) result[key] = convert(item);
    return result;
  }
};

Ordered convert(const Json& value) {
  return std::visit(Converter{}, value.data);
}

// In quotes. Text that needs no escapes, as nearly all does, is copied as it is.
void append_string(std::string& text, const std::string& value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) {
    text.append(1, '"').append(value).append(1, '"');
  } else {
    text += Ordered(value).dump(-1, ' ', false, Ordered::error_handler_t::replace);
  }
}

struct Appender {
  std::string& text;

  void operator()(std::nullptr_t) const { text += "null"; }
  void operator()(bool b) const { text += b ? "true" : "false"; }
  void operator()(std::int64_t i) const { text += std::to_string(i); }
  void operator()(double d) const {
    if (!std::isfinite(d)) return (*this)(nullptr);
    char digits[32];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, d);
    text.append(digits, end.ptr);
  }
  void operator()(const std::string& s) const { append_string(text, s); }
  void operator()(const Array& array) const {
    char before = '[';
    for (const Json& item : array) {
      text += std::exchange(before, ',');
      append_json(text, item);
    }
    text += array.empty() ? "[]" : "]";
  }
  void operator()(const Object& object) const {
    char before = '{';
    for (const auto& [key, item] : object) {
      text += std::exchange(before, ',');
      append_string(text, key);
      text += ':';
      append_json(text, item);
    }
    text += object.empty() ? "{}" : "}";
  }
};

}  // namespace

void append_json(std::string& text, const Json& value) {
  std::visit(Appender{text}, value.data);
}

Json::Json(const std::vector<std::string>& list) : data(Array(list.begin(), list.end())) {}

std::string to_json(const Json& value, int indent) {
  return convert(value).dump(indent, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
