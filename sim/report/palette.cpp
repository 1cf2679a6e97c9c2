#include "report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/must.h"

namespace shardsim {

namespace {

constexpr std::array kInks = {
    Ink{"forward", "#136fec", 'F'},
    Ink{"backward", "#ad570c", 'B'},
    Ink{"backward input", "#016573", 'I'},
    Ink{"backward weight", "#36521f", 'W'},
    Ink{"recomputation", "#cda24a", 'R'},
    Ink{"optimizer", "#f0d32c", 'O'},
    Ink{"forward+backward", "#4b1ade", 'X'},
    Ink{"all-gather", "#8626a6", 'g'},
    Ink{"reduce-scatter", "#f772cb", 's'},
    Ink{"all-reduce", "#cc334d", 'r'},
    Ink{"all-to-all", "#c38bfc", 'a'},
    Ink{"pipeline transfer", "#86888a", 'p'},
    Ink{"phase", "#cbcccd", 'x'},
};
constexpr Ink kOtherCompute = {"other computes", "#136fec", 'x'};
constexpr Ink kOtherCommunication = {"other communication", "#8626a6", 'c'};

int two_digits(std::string_view hex) {
  int value = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  return value;
}

// Relative luminance of WCAG 2.
double luminance(std::string_view colour) {
  const Rgb rgb = rgb_of(colour);
  const auto linear = [](int channel) {
    const double share = channel / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(rgb.red) + 0.7152 * linear(rgb.green) + 0.0722 * linear(rgb.blue);
}

}  // namespace

std::span<const Ink> inks() {
  return kInks;
}

const Ink& ink_of(const SliceKind& kind) {
  const auto* const row = std::find_if(kInks.begin(), kInks.end(),
                                       [&](const Ink& ink) { return ink.name == kind.name; });
  if (row != kInks.end()) return *row;
  return kind.group == SliceGroup::compute ? kOtherCompute : kOtherCommunication;
}

const Ink& ink_of_work(char letter) {
  const auto* const row = std::find_if(kInks.begin(), kInks.end(),
                                       [&](const Ink& ink) { return ink.letter == letter; });
  must(row != kInks.end(), "every work has a colour");
  return *row;
}

Rgb rgb_of(std::string_view colour) {
  return {two_digits(colour.substr(1, 2)), two_digits(colour.substr(3, 2)),
          two_digits(colour.substr(5, 2))};
}

std::string lighter(std::string_view colour) {
  const Rgb rgb = rgb_of(colour);
  const auto mixed = [](int channel) {
    return static_cast<int>(std::lround(channel + (255 - channel) * 0.6));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(rgb.red), mixed(rgb.green), mixed(rgb.blue));
}

std::string_view text_on(std::string_view colour) {
  return 1.05 / (luminance(colour) + 0.05) >= 4.5 ? "#ffffff" : "#000000";
}

}  // namespace shardsim
