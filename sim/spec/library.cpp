#include "spec/library.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> yaml_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; at != end; at.increment(none)) {
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> names_in(const Library& library) {
  return yaml_names(fs::path(data_dir()) / library.folder);
}

std::string path_in(const Library& library, const std::string& name) {
  return (fs::path(data_dir()) / library.folder / (name + ".yaml")).string();
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") ||
         text.ends_with(".yml") || text.ends_with(".json");
}

namespace {

// Short where it can be: the path from the working directory, when it is below it.
std::string shown_path(const fs::path& path) {
  std::error_code none;
  const std::string here = fs::current_path(none).string() + "/";
  const std::string whole = path.string();
  return whole.starts_with(here) ? whole.substr(here.size()) : whole;
}

// "did you mean …" among the YAML files beside a path that does not exist.
std::string nearest_file(const fs::path& path) {
  std::vector<std::string> files;
  for (const std::string& name : yaml_names(path.has_parent_path() ? path.parent_path() : ".")) {
    files.push_back((path.parent_path() / (name + ".yaml")).string());
  }
  const std::string close = nearest(path.string(), files);
  return close.empty() ? "" : fmt::format("did you mean {}?", close);
}

// Why a path is no file to read, or nothing.
std::optional<std::string> why_no_file(const fs::path& path, std::size_t largest) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return "no such file";
  if (fs::is_directory(status)) return "expected a file, found a directory";
  const auto size = fs::is_regular_file(status) ? fs::file_size(path, error) : 0;
  if (!error && size > largest) {
    return fmt::format("expected a file of at most {}, found one of {}",
                       to_text(Bytes{static_cast<double>(largest)}),
                       to_text(Bytes{static_cast<double>(size)}));
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const Source> open_source(const std::string& path, const SourcePos& wanted_at,
                                          std::size_t largest, std::vector<Problem>& problems) {
  if (const auto why = why_no_file(path, largest)) {
    const std::string hint = fs::exists(path) ? "" : nearest_file(path);
    const bool by_name = wanted_at.source != nullptr;
    SourcePos at = wanted_at;
    if (!by_name) at = {std::make_shared<const Source>(Source{path, ""}), 0, 0, 1};
    problems.push_back({at, by_name ? fmt::format("{}: {}", path, *why) : *why, hint});
    return nullptr;
  }
  std::string text = read_file(path, largest);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return std::make_shared<const Source>(Source{shown_path(path), std::move(text)});
}

namespace {

// A file that was read without a problem, as long as it stays as it was. Chips and models are asked
// for by every point of a sweep.
struct ReadFile {
  std::chrono::system_clock::time_point changed;
  std::uintmax_t size = 0;
  std::shared_ptr<const Node> root;
};

std::map<std::string, ReadFile>& read_files() {
  static std::map<std::string, ReadFile> files;
  return files;
}

// When a file changed and how large it is, asked for at once; nothing: it is not there.
std::optional<ReadFile> stamp_of(const std::string& path) {
  struct stat is {};
  if (stat(path.c_str(), &is) != 0) return std::nullopt;
  const auto since =
      std::chrono::seconds(is.st_mtim.tv_sec) + std::chrono::nanoseconds(is.st_mtim.tv_nsec);
  return ReadFile{std::chrono::system_clock::time_point(since),
                  static_cast<std::uintmax_t>(is.st_size), nullptr};
}

}  // namespace

Node open_yaml(const std::string& path, const SourcePos& wanted_at,
               std::vector<Problem>& problems) {
  return *open_kept_yaml(path, wanted_at, problems);
}

std::shared_ptr<const Node> open_kept_yaml(const std::string& path, const SourcePos& wanted_at,
                                           std::vector<Problem>& problems) {
  std::map<std::string, ReadFile>& read = read_files();
  const std::optional<ReadFile> now = stamp_of(path);
  const auto known = read.find(path);
  if (now && known != read.end() && known->second.changed == now->changed &&
      known->second.size == now->size) {
    return known->second.root;
  }
  const std::size_t before = problems.size();
  const auto source = open_source(path, wanted_at, kLargestYaml, problems);
  if (source == nullptr) return std::make_shared<const Node>();
  auto root = std::make_shared<const Node>(parse_yaml(source, 0, problems));
  // One that has just been written may be written again within the clock's grain.
  constexpr std::chrono::seconds kSettled{2};
  const bool settled = now && std::chrono::system_clock::now() - now->changed > kSettled;
  if (settled && problems.size() == before) read[path] = {now->changed, now->size, root};
  return root;
}

namespace {

std::vector<std::string> names_starting(std::span<const std::string> names,
                                        std::string_view start) {
  std::vector<std::string> longer;
  if (start.empty()) return longer;
  std::copy_if(names.begin(), names.end(), std::back_inserter(longer),
               [&](const std::string& name) { return name.starts_with(start); });
  return longer;
}

// "it is a sweep: shardsim sweep NAME", when the other library of whole files has that name.
std::string of_other_kind(const Library& library, const std::string& name) {
  for (const Library& other : {kRuns, kSweeps}) {
    const auto names = names_in(other);
    if (other.what != library.what && std::find(names.begin(), names.end(), name) != names.end())
      return fmt::format("it is a {0}: shardsim {0} {1}", other.what, name);
  }
  return "";
}

}  // namespace

std::optional<std::string> locate(const Library& library, const Chosen<std::string>& wanted,
                                  std::vector<Problem>& problems) {
  const std::string& text = wanted.value;
  if (library.what == kModels.what && text.ends_with(".json")) {
    problems.push_back({wanted.pos, "reading a config.json is not available in this version", ""});
    return std::nullopt;
  }
  if (is_path(text)) {
    const bool from_file = wanted.pos.source && wanted.pos.source->name != "--set";
    const fs::path folder = from_file ? fs::path(wanted.pos.source->name).parent_path() : "";
    return (folder / text).lexically_normal().string();
  }
  const std::string file = path_in(library, text);
  std::error_code none;
  const bool known = read_files().contains(file);
  if (!text.empty() && (known || fs::exists(file, none))) return file;
  const auto names = names_in(library);
  std::string hint = suggestion(text, names);
  const auto longer = names_starting(names, text);
  if (!longer.empty()) hint = fmt::format("did you mean {}?", joined_or(longer));
  const std::string other = of_other_kind(library, text);
  if (!other.empty()) hint = other;
  if (hint.empty()) hint = fmt::format("see: shardsim list {}", library.plural);
  problems.push_back({wanted.pos,
                      fmt::format("expected a {} from {}{}, found {}", library.what, library.folder,
                                  library.also, in_quotes(text)),
                      std::move(hint)});
  return std::nullopt;
}

Node open_argument(const Library& library, const std::string& text,
                   std::vector<Problem>& problems) {
  std::error_code none;
  if (!is_path(text) && !fs::exists(text, none)) {
    const SourcePos pos = argument_pos(std::string(library.what), text);
    const auto path = locate(library, {text, pos, true}, problems);
    return path ? open_yaml(*path, pos, problems) : Node{};
  }
  const Node root = open_yaml(text, {}, problems);
  if (!fs::exists(text, none) && problems.back().hint.empty()) {  // nor one like it beside it
    const std::string close = nearest(fs::path(text).stem().string(), names_in(library));
    if (!close.empty()) problems.back().hint = fmt::format("did you mean {}?", close);
  }
  return root;
}

void require_kind(const Library& wanted, const Node& root, const std::string& text) {
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  const bool sweep = has("base") && (has("axes") || has("zip") || has("variables"));
  const bool run = has("cluster") && !has("base");
  const bool wants_run = wanted.what == kRuns.what;
  if (wants_run ? !sweep : !run) return;
  const char* const key = wants_run ? "base" : "cluster";
  const auto at = std::find_if(root.entries.begin(), root.entries.end(),
                               [&](const NodeEntry& entry) { return entry.key == key; });
  const Library& other = wants_run ? kSweeps : kRuns;
  throw ConfigError({{at->key_pos,
                      fmt::format("expected a {}, found a {}: it has {}", wanted.what, other.what,
                                  wants_run ? "a base that is varied" : "a cluster and no base"),
                      fmt::format("shardsim {} {}", other.what, text)}});
}

}  // namespace shardsim
