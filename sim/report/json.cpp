#include "report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

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

}  // namespace

Json::Json(const std::vector<std::string>& list) : data(Array(list.begin(), list.end())) {}

std::string to_json(const Json& value, int indent) {
  return convert(value).dump(indent, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
