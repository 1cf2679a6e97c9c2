// Columns: whole numbers of many rows as text, a tenth of what they take as JSON numbers.
//
// A column is base64 of LEB128 varints (seven bits a byte, the lowest first). Plain numbers are as
// they are; differences hold row i minus row i-1 (row 0 minus 0), zigzag coded: 0, -1, 1, -2 are
// 0, 1, 2, 3. Pages decode them in reports/template/columns.js.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

class Column {
 public:
  void add(std::uint64_t number);
  std::string text() const;  // base64

 private:
  std::vector<std::uint8_t> bytes_;
};

// Numbers of any order and sign, as differences.
class DifferenceColumn {
 public:
  void add(std::int64_t number);
  std::string text() const { return column_.text(); }

 private:
  Column column_;
  std::int64_t before_ = 0;
};

// The numbers of a column; nothing for text that is none: other characters, a number that does not
// end or has more than 63 bits.
std::optional<std::vector<std::uint64_t>> read_column(std::string_view text);
// The same of differences; nothing, too, for a sum beyond 63 bits.
std::optional<std::vector<std::int64_t>> read_differences(std::string_view text);

}  // namespace shardsim
