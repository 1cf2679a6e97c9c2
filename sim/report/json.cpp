#include "report/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
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

namespace {

constexpr int kDeepest = 64;

// Builds the tree as nlohmann-json reads on, so that depth costs no stack and is bounded.
class Reader : public nlohmann::json_sax<Ordered> {
 public:
  explicit Reader(ParsedJson& into) : into_(into) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return fits ? put(static_cast<std::int64_t>(value)) : put(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Object{}); }
  bool start_array(std::size_t) override { return open(Array{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Object& object = std::get<Object>(open_.back()->data);
    if (!keys_.back().insert(name).second)
      return fail("expected every key once, found \"" + name + "\" twice");
    object.emplace_back(std::move(name), Json{});
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    into_.at = at > 0 ? at - 1 : 0;
    return false;
  }

 private:
  bool fail(std::string error) {
    if (into_.error.empty()) into_.error = std::move(error);
    return false;
  }

  Json& place() {
    if (open_.empty()) return into_.value;
    if (Array* array = std::get_if<Array>(&open_.back()->data)) return array->emplace_back();
    return std::get<Object>(open_.back()->data).back().second;
  }

  bool put(Json value) {
    place() = std::move(value);
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kDeepest) return fail("expected at most 64 levels, found more");
    Json& here = place();
    here = std::move(value);
    open_.push_back(&here);
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  ParsedJson& into_;
  std::vector<Json*> open_;
  std::vector<std::set<std::string>> keys_;  // of each open object
};

}  // namespace

ParsedJson parse_json(std::string_view text) {
  ParsedJson parsed;
  Reader reader(parsed);
  const bool whole = Ordered::sax_parse(text.begin(), text.end(), &reader);
  if (!whole && parsed.error.empty()) {
    const bool more = parsed.at < text.size();
    parsed.error = "expected JSON, found " +
                   (more ? "\"" + std::string(text.substr(parsed.at, 1)) + "\"" : "the end");
  }
  return parsed;
}

const Json* find(const Json& value, std::string_view key) {
  const Object* object = std::get_if<Object>(&value.data);
  if (object == nullptr) return nullptr;
  const auto at = std::find_if(object->begin(), object->end(),
                               [&](const auto& entry) { return entry.first == key; });
  return at == object->end() ? nullptr : &at->second;
}

std::optional<double> number_at(const Json& value, std::string_view key) {
  const Json* const found = find(value, key);
  if (found == nullptr) return std::nullopt;
  if (const double* number = std::get_if<double>(&found->data)) return *number;
  if (const std::int64_t* whole = std::get_if<std::int64_t>(&found->data))
    return static_cast<double>(*whole);
  return std::nullopt;
}

std::string text_at(const Json& value, std::string_view key) {
  const Json* const found = find(value, key);
  const std::string* text = found == nullptr ? nullptr : std::get_if<std::string>(&found->data);
  return text == nullptr ? "" : *text;
}

Json::Json(const std::vector<std::string>& list) : data(Array(list.begin(), list.end())) {}

std::string to_json(const Json& value, int indent) {
  return convert(value).dump(indent, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
