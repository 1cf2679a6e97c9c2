// Results on disk: one table of rows in SQLite (store.cpp is its door), in WAL mode, so that a
// process that is killed loses nothing that was put.
//
//   sweep(key, value)     what the sweep is: name, fingerprint, version, shard, points
//   points(point, …)      one row per point; columns carry their unit
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shardsim {

using Datum = std::variant<std::monostate, std::int64_t, double, std::string>;
using Row = std::vector<Datum>;

// Whether a process has the database open for writing.
bool is_being_written(const std::string& path);

struct StoreColumn {
  std::string name;
  std::string type;  // of SQLite: INTEGER, REAL, TEXT or NUMERIC (a number where it is one)
};

class Store {
 public:
  // A new database, made under another name: it is there whole or not at all. Throws ConfigError
  // when there is a file, std::runtime_error when it cannot be made. The first column is the number
  // of the point, by which rows are told apart.
  static Store create(const std::string& path, std::span<const StoreColumn> columns,
                      const std::map<std::string, std::string>& facts);
  // One that is there, where it cannot be written, too. Throws ConfigError when it is no database
  // of a sweep, std::runtime_error when it cannot be read, or `write` and another process has it or
  // it is read-only.
  static Store open(const std::string& path, bool write);

  Store(Store&&) noexcept;
  ~Store();

  const std::string& path() const;
  const std::map<std::string, std::string>& facts() const;
  const std::vector<StoreColumn>& columns() const;

  // Whole or not at all; rows that are there are replaced. Throws std::runtime_error when the disk
  // is full: what was put before is whole.
  void put(std::span<const Row> rows);
  // Cells of rows that are there; the first column is the number.
  void update(const std::vector<std::string>& columns, const std::vector<Row>& rows);
  void set_fact(const std::string& key, const std::string& value);
  // Rows by number, cells of these columns (all: none named).
  void each(std::span<const std::string> columns, const std::function<void(const Row&)>& see) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shardsim
