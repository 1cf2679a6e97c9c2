#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "replay/simgrid.h"

namespace shardsim {

namespace {

// Beside the program, or where it was built.
std::string door_path() {
  const std::filesystem::path name = "shardsim_simgrid.so";
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name;
  if (std::filesystem::exists(beside, error)) return beside;
  return std::filesystem::path(SHARDSIM_BINARY_DIR) / name;
}

// RTLD_GLOBAL: the door looks for a symbol of SimGrid that no header shows.
const SimgridDoor& load() {
  void* const library = dlopen(door_path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const door = library == nullptr ? nullptr : dlsym(library, "shardsim_simgrid_door");
  if (door == nullptr) {
    throw std::runtime_error(std::string("the simgrid engine cannot be loaded: ") + dlerror() +
                             "; build shardsim again, or use --engine ideal");
  }
  return *static_cast<const SimgridDoor*>(door);
}

}  // namespace

const SimgridDoor& simgrid() {
  static const SimgridDoor& door = load();
  return door;
}

}  // namespace shardsim
