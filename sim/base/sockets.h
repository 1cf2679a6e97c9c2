// Messages between two processes over a socket: a length, then so many bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

struct SocketPair {
  int mine = -1;
  int theirs = -1;
};
// Throws std::runtime_error.
SocketPair make_sockets();

// False, or nothing: the other side is gone, or we were interrupted.
bool send_bytes(int socket, std::string_view bytes);
bool has_bytes(int socket);  // waits for them; takes none
bool receive_bytes(int socket, char* to, std::size_t size);
bool send_message(int socket, std::string_view message);
std::optional<std::string> receive_message(int socket);

}  // namespace shardsim
