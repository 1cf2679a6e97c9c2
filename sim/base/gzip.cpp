#include "base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/must.h"

namespace shardsim {

std::string gzip(std::string_view content) {
  constexpr int kGzip = 15 + 16;  // the largest window, with gzip's header
  constexpr std::size_t kPart = 1 << 20;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed, buffer(kPart, '\0');
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const std::size_t part = std::min(content.size(), kPart);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(part);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = deflate(&stream, part == content.size() ? Z_FINISH : Z_NO_FLUSH);
    must(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, "zlib packs all bytes");
    content.remove_prefix(part - stream.avail_in);
    packed.append(buffer, 0, buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return packed;
}

}  // namespace shardsim
