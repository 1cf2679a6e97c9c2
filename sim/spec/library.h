// Folders of files that are asked for by name, and how one of them is opened.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "spec/fields.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Library {
  std::string_view what;    // kind of the file in the table of fields
  std::string_view folder;  // under data_dir()
  std::string_view plural;  // shardsim list …
  std::string_view also;    // what may be written instead of a name
};
inline constexpr Library kChips{"chip", "configs/chips", "chips", ""};
inline constexpr Library kTopologies{"topology", "configs/topologies", "topologies",
                                     " or a short name such as ring:8"};
inline constexpr Library kModels{"model", "models", "models", ""};
inline constexpr Library kBlocks{"block", "models/blocks", "blocks", ""};
inline constexpr Library kRuns{"run", "configs/runs", "runs", " or a path"};
inline constexpr Library kSweeps{"sweep", "configs/sweeps", "sweeps", " or a path"};
inline constexpr Library kPhases{"list of phases", "configs/phases", "phases", " or a path"};

std::vector<std::string> names_in(const Library& library);
std::string path_in(const Library& library, const std::string& name);

bool is_path(std::string_view text);  // it has a / or ends in .yaml

// The file that a name or path means; nothing when there is none, with the reason in `problems`. A
// path starts from the folder of the file that it is written in.
std::optional<std::string> locate(const Library& library, const Chosen<std::string>& wanted,
                                  std::vector<Problem>& problems);

// The text of a file of at most `largest` bytes; nullptr when it cannot be read, with the reason in
// `problems`. `wanted_at` is where its name was written (source null: the command line).
std::shared_ptr<const Source> open_source(const std::string& path, const SourcePos& wanted_at,
                                          std::size_t largest, std::vector<Problem>& problems);

// The tree of a file. `wanted_at` is where its name was written (source null: the command line). A
// node without a source means that nothing could be read; the reason is among the problems.
Node open_yaml(const std::string& path, const SourcePos& wanted_at, std::vector<Problem>& problems);
// The same without a copy. As long as a file stays as it is, the same tree, so that what was made
// of it need not be made again.
std::shared_ptr<const Node> open_kept_yaml(const std::string& path, const SourcePos& wanted_at,
                                           std::vector<Problem>& problems);

// The same of a name or path on the command line. A file that is there goes before a name.
Node open_argument(const Library& library, const std::string& text, std::vector<Problem>& problems);

// Throws ConfigError, with the right command, when the file `text` of the command line is a sweep
// where a run is wanted, or the other way round.
void require_kind(const Library& wanted, const Node& root, const std::string& text);

}  // namespace shardsim
