#include "sweep/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/problem.h"

namespace shardsim {
namespace {

constexpr int kBusyMilliseconds = 5000;  // how long a reader or another writer is waited for
constexpr const char* kFormat = "2";

struct Closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Query = std::unique_ptr<sqlite3_stmt, Closer>;

constexpr const char* kGoOn = "go on (sweep --resume, or merge again)";
constexpr const char* kLocked =
    "locked by another process: wait until the sweep that writes it has ended, or end what else "
    "has it open (fuser FILE names it), then do the same again, a sweep with --resume";

// What SQLite's code means for the person whose file it is.
std::string meaning(sqlite3* db, int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return fmt::format("the disk is full; what is stored is whole: make room, then {}", kGoOn);
    case SQLITE_IOERR:
      return fmt::format("cannot be written or read ({}); what is stored is whole: {}",
                         sqlite3_errstr(code), kGoOn);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return kLocked;
    case SQLITE_READONLY:
      return "read-only";
    case SQLITE_CANTOPEN:
      return fmt::format("cannot be opened: {}", std::strerror(sqlite3_system_errno(db)));
    default:
      return sqlite3_errmsg(db);
  }
}

[[noreturn]] void fail(const std::string& path, sqlite3* db, int code) {
  throw std::runtime_error(fmt::format("{}: {}", path, meaning(db, code)));
}

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint = "") {
  throw ConfigError({{argument_pos("--db", path), std::move(message), std::move(hint)}});
}

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

bool is_being_written(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return held;
}

struct Store::State {
  std::string path;
  Database db;
  std::map<std::string, std::string> facts;
  std::vector<StoreColumn> columns;
  Query insert;
  int lock = -1;

  ~State() {
    insert.reset();
    db.reset();
    // Last: closing any descriptor of the file drops SQLite's own locks on it.
    if (lock >= 0) ::close(lock);
  }

  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) fail(path, db.get(), code);
  }
  void execute(const std::string& sql) const {
    check(sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  Query prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement, nullptr));
    return Query(statement);
  }
  void open_file(const std::string& name, int flags) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
    db.reset(raw);
    check(code);
    sqlite3_busy_timeout(db.get(), kBusyMilliseconds);
  }
  // One writer at a time, for as long as it lives.
  void take_lock() {
    lock = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0)
      throw std::runtime_error(fmt::format(
          "{}: {}", path, errno == EACCES || errno == EROFS ? "read-only" : std::strerror(errno)));
    // What a killed process leaves running holds its lock until it has gone, too.
    constexpr int kTries = 50;
    for (int i = 0; ::flock(lock, LOCK_EX | LOCK_NB) != 0; ++i) {
      if (i == kTries) throw std::runtime_error(fmt::format("{}: {}", path, kLocked));
      ::usleep(kBusyMilliseconds * 1000 / kTries);
    }
  }
  void begin_writing() {
    take_lock();
    execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
    std::string marks;
    for (std::size_t i = 0; i < columns.size(); ++i) marks += i == 0 ? "?" : ",?";
    insert = prepare(fmt::format("INSERT OR REPLACE INTO points VALUES ({})", marks));
  }
  void bind(sqlite3_stmt* to, int at, const Datum& cell) const {
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      check(sqlite3_bind_int64(to, at, *whole));
    } else if (const auto* number = std::get_if<double>(&cell)) {
      check(sqlite3_bind_double(to, at, *number));
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      check(sqlite3_bind_text(to, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC));
    } else {
      check(sqlite3_bind_null(to, at));
    }
  }
  // The statement for every row, in one transaction.
  void change(sqlite3_stmt& statement, std::span<const Row> rows) const {
    if (rows.empty()) return;
    try {
      execute("BEGIN IMMEDIATE");
      for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
          bind(&statement, static_cast<int>(i) + 1, row[i]);
        check(sqlite3_step(&statement));
        check(sqlite3_reset(&statement));
      }
      execute("COMMIT");
    } catch (...) {
      sqlite3_reset(&statement);
      sqlite3_exec(db.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }
  std::uintmax_t page_bytes() const {
    const Query size = prepare("PRAGMA page_size");
    check(sqlite3_step(size.get()));
    return static_cast<std::uintmax_t>(sqlite3_column_int64(size.get(), 0));
  }
  void put_fact(const std::string& key, const std::string& value) const {
    const Query put = prepare("INSERT OR REPLACE INTO sweep VALUES (?, ?)");
    const Datum cells[] = {key, value};  // bound as they are, not copied
    bind(put.get(), 1, cells[0]);
    bind(put.get(), 2, cells[1]);
    check(sqlite3_step(put.get()));
  }
  void read_facts() {
    const Query rows = prepare("SELECT key, value FROM sweep");
    int code = 0;
    while ((code = sqlite3_step(rows.get())) == SQLITE_ROW) {
      const auto text = [&](int i) {
        return std::string(reinterpret_cast<const char*>(sqlite3_column_text(rows.get(), i)));
      };
      facts[text(0)] = text(1);
    }
    check(code);
    const Query infos = prepare("SELECT name, type FROM pragma_table_info('points')");
    while ((code = sqlite3_step(infos.get())) == SQLITE_ROW) {
      const auto text = [&](int i) {
        return std::string(reinterpret_cast<const char*>(sqlite3_column_text(infos.get(), i)));
      };
      columns.push_back({text(0), text(1)});
    }
    check(code);
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store::~Store() = default;

const std::string& Store::path() const {
  return state_->path;
}
const std::map<std::string, std::string>& Store::facts() const {
  return state_->facts;
}
const std::vector<StoreColumn>& Store::columns() const {
  return state_->columns;
}

namespace {

[[noreturn]] void refuse_existing(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    refuse(path, "expected a name for the database, found a directory");
  refuse(path, fmt::format("expected no file of this name, found {}", path),
         "--resume goes on with it; or choose another --db");
}

// Gives the file its name unless there is one of that name by now.
void give_name(const std::string& made, const std::string& path) {
  if (::link(made.c_str(), path.c_str()) == 0) {
    ::unlink(made.c_str());
    return;
  }
  const int error = errno;
  if (error == EEXIST) {
    ::unlink(made.c_str());
    refuse_existing(path);
  }
  std::filesystem::rename(made, path);  // a file system without links
}

}  // namespace

Store Store::create(const std::string& path, std::span<const StoreColumn> columns,
                    const std::map<std::string, std::string>& facts) {
  if (std::filesystem::exists(path)) refuse_existing(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error(fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
  auto state = std::make_unique<State>();
  state->path = fmt::format("{}.new-{}", path, getpid());
  state->facts = facts;
  state->facts["format"] = kFormat;
  state->columns.assign(columns.begin(), columns.end());
  std::filesystem::remove(state->path);
  std::string list;
  for (std::size_t i = 0; i < columns.size(); ++i)
    list += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(columns[i].name),
                        i == 0 ? "INTEGER PRIMARY KEY" : columns[i].type);
  try {
    state->open_file(state->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    state->execute(
        "PRAGMA journal_mode=MEMORY; BEGIN;"
        "CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
        "CREATE TABLE points(" +
        list + ");");
    for (const auto& [key, value] : state->facts) state->put_fact(key, value);
    state->execute("COMMIT");
    state->db.reset();
  } catch (const std::runtime_error&) {
    const int code = sqlite3_errcode(state->db.get()) & 0xff;
    state->db.reset();
    ::unlink(state->path.c_str());
    throw std::runtime_error(
        fmt::format("{}: cannot be made: {}", path,
                    code == SQLITE_FULL ? "the disk is full" : sqlite3_errstr(code)));
  }
  give_name(state->path, path);
  return open(path, true);
}

namespace {

// SQLite reads what is missing of the last page as zeros. A log beside the database may have it.
void require_whole(const std::string& path, std::uintmax_t page_bytes) {
  std::error_code none;
  const auto log = std::filesystem::file_size(path + "-wal", none);
  if (!none && log > 0) return;
  const auto size = std::filesystem::file_size(path, none);
  if (!none && size % page_bytes != 0)
    throw std::runtime_error(fmt::format("{}: cut off: its last page is not whole", path));
}

// A file: name of SQLite, in which ? # and % mean something.
std::string file_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string())
    uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                                            : std::string(1, c);
  return uri;
}

// A database in WAL mode has a file beside it that all readers share. Where that is not there and
// cannot be made nobody writes, either, so that it may be read as a file that does not change. Rows
// that are only in its log would not be seen like that: then it is no good.
bool is_unchanging(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  if (::access(folder.c_str(), W_OK) == 0) return false;
  std::error_code none;
  const auto size = std::filesystem::file_size(path + "-wal", none);
  if (none || size == 0) return true;
  throw std::runtime_error(fmt::format(
      "{}: its last rows are in {}-wal, which can be read only where it may be written: copy both "
      "there",
      path, path));
}

}  // namespace

Store Store::open(const std::string& path, bool write) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) refuse(path, fmt::format("{}: no such file", path));
  if (std::filesystem::is_directory(path, none))
    refuse(path, "expected the database of a sweep, found a directory");
  if (std::filesystem::file_size(path, none) == 0 && !none)
    refuse(path, "expected the database of a sweep, found an empty file");
  auto state = std::make_unique<State>();
  state->path = path;
  if (write) {
    state->take_lock();
    ::close(state->lock);
    state->lock = -1;
  }
  try {
    state->open_file(path, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    state->read_facts();
  } catch (const std::runtime_error&) {
    const int code = sqlite3_errcode(state->db.get()) & 0xff;
    if (!write && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && is_unchanging(path)) {
      state->open_file(file_uri(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
      state->read_facts();
    } else if (code == SQLITE_NOTADB || code == SQLITE_ERROR) {  // SQLITE_ERROR: no such table
      refuse(path, fmt::format("expected the database of a sweep, found {}",
                               code == SQLITE_NOTADB ? "a file that is no SQLite database"
                                                     : "another SQLite database"));
    } else {
      throw;
    }
  }
  require_whole(path, state->page_bytes());
  if (state->facts["format"] != kFormat)
    refuse(path,
           fmt::format("expected a database of format {}, found \"{}\"", kFormat,
                       printable(state->facts["format"])),
           "another version of the program made it: sweep anew, or export it by that");
  if (write) state->begin_writing();
  return Store(std::move(state));
}

void Store::set_fact(const std::string& key, const std::string& value) {
  state_->put_fact(key, value);
  state_->facts[key] = value;
}

void Store::put(std::span<const Row> rows) {
  state_->change(*state_->insert, rows);
}

void Store::update(const std::vector<std::string>& columns, const std::vector<Row>& rows) {
  std::string set;
  for (std::size_t i = 1; i < columns.size(); ++i)
    set += fmt::format("{}{} = ?{}", i == 1 ? "" : ", ", quoted(columns[i]), i + 1);
  const Query change = state_->prepare(
      fmt::format("UPDATE points SET {} WHERE {} = ?1", set, quoted(columns.front())));
  state_->change(*change, rows);
}

void Store::each(std::span<const std::string> columns,
                 const std::function<void(const Row&)>& see) const {
  std::string list;
  for (const std::string& name : columns) list += (list.empty() ? "" : ", ") + quoted(name);
  const Query rows =
      state_->prepare(fmt::format("SELECT {} FROM points ORDER BY 1", list.empty() ? "*" : list));
  Row row(static_cast<std::size_t>(sqlite3_column_count(rows.get())));
  int code = 0;
  while ((code = sqlite3_step(rows.get())) == SQLITE_ROW) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int at = static_cast<int>(i);
      switch (sqlite3_column_type(rows.get(), at)) {
        case SQLITE_INTEGER:
          row[i] = static_cast<std::int64_t>(sqlite3_column_int64(rows.get(), at));
          break;
        case SQLITE_FLOAT:
          row[i] = sqlite3_column_double(rows.get(), at);
          break;
        case SQLITE_NULL:
          row[i] = std::monostate{};
          break;
        default:
          row[i] = std::string(reinterpret_cast<const char*>(sqlite3_column_text(rows.get(), at)),
                               static_cast<std::size_t>(sqlite3_column_bytes(rows.get(), at)));
      }
    }
    see(row);
  }
  state_->check(code);
}

}  // namespace shardsim
