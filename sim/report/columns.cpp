#include "report/columns.h"

#include <algorithm>
#include <array>

namespace shardsim {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

constexpr std::uint8_t kNoDigit = 255;

std::array<std::uint8_t, 256> digit_values() {
  std::array<std::uint8_t, 256> values;
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}

std::optional<std::vector<std::uint8_t>> bytes_of(std::string_view text) {
  static const std::array<std::uint8_t, 256> values = digit_values();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.size() > padding && text[text.size() - 1 - padding] == '=') ++padding;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t held = 0, bits = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const std::uint8_t value = values[static_cast<unsigned char>(c)];
    if (value == kNoDigit) return std::nullopt;
    held = held << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(held >> bits));
  }
  return bytes;
}

}  // namespace

void Column::add(std::uint64_t number) {
  for (; number > 127; number >>= 7) bytes_.push_back(static_cast<std::uint8_t>(number | 128));
  bytes_.push_back(static_cast<std::uint8_t>(number));
}

std::string Column::text() const {
  return base64(bytes_);
}

void DifferenceColumn::add(std::int64_t number) {
  const std::int64_t by = number - before_;
  before_ = number;
  column_.add(static_cast<std::uint64_t>(by) << 1 ^ static_cast<std::uint64_t>(by >> 63));
}

std::optional<std::vector<std::uint64_t>> read_column(std::string_view text) {
  const std::optional<std::vector<std::uint8_t>> bytes = bytes_of(text);
  if (!bytes) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  std::uint64_t number = 0;
  unsigned shift = 0;
  for (const std::uint8_t byte : *bytes) {
    if (shift > 56) return std::nullopt;
    number |= static_cast<std::uint64_t>(byte & 127) << shift;
    shift += 7;
    if (byte > 127) continue;
    numbers.push_back(number);
    number = 0;
    shift = 0;
  }
  if (shift > 0) return std::nullopt;
  return numbers;
}

std::optional<std::vector<std::int64_t>> read_differences(std::string_view text) {
  const std::optional<std::vector<std::uint64_t>> coded = read_column(text);
  if (!coded) return std::nullopt;
  std::vector<std::int64_t> numbers;
  std::int64_t now = 0;
  for (const std::uint64_t code : *coded) {
    const auto by = static_cast<std::int64_t>(code >> 1) ^ -static_cast<std::int64_t>(code & 1);
    if (__builtin_add_overflow(now, by, &now)) return std::nullopt;
    numbers.push_back(now);
  }
  return numbers;
}

}  // namespace shardsim
