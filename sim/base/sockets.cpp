#include "base/sockets.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "base/file.h"

namespace shardsim {

SocketPair make_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  return {ends[0], ends[1]};
}

bool has_bytes(int socket) {
  char first = 0;
  return ::recv(socket, &first, 1, MSG_PEEK) > 0;
}

bool receive_bytes(int socket, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(socket, to, size);
    if (got < 0 && errno == EINTR && !interrupted()) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR && !interrupted()) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool send_message(int socket, std::string_view message) {
  const std::uint64_t size = message.size();
  return send_bytes(socket, {reinterpret_cast<const char*>(&size), sizeof size}) &&
         send_bytes(socket, message);
}

std::optional<std::string> receive_message(int socket) {
  std::uint64_t size = 0;
  if (!receive_bytes(socket, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string message(size, '\0');
  if (!receive_bytes(socket, message.data(), size)) return std::nullopt;
  return message;
}

}  // namespace shardsim
