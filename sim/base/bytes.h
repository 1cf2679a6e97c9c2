// Plain values and vectors of them as bytes, between processes of one program.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/must.h"

namespace shardsim {

template <class T>
void put(const T& value, std::string& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A vector or a string.
template <class List>
void put_list(const List& list, std::string& out) {
  using T = typename List::value_type;
  static_assert(std::is_trivially_copyable_v<T>);
  put(list.size(), out);
  out.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
}

// From the front of `bytes`. REQUIRES: put wrote it there.
template <class T>
T take(std::string_view& bytes) {
  must(bytes.size() >= sizeof(T), "what was written is whole");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

template <class List>
List take_list(std::string_view& bytes) {
  using T = typename List::value_type;
  const auto count = take<std::size_t>(bytes);
  must(bytes.size() / sizeof(T) >= count, "what was written is whole");
  List list(count, T{});
  if (count > 0) std::memcpy(list.data(), bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
  return list;
}

}  // namespace shardsim
