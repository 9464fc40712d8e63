// Limits on the bytes, the time and the memory that the server spends on a client.
#pragma once

#include <chrono>
#include <cstddef>

namespace smelt::server {

using std::chrono::seconds;

inline constexpr size_t kMostHeadBytes = size_t{16} << 10;  // request line and fields
inline constexpr size_t kMostFields = 128;
inline constexpr size_t kMostBodyBytes = size_t{4} << 20;
inline constexpr size_t kMostBodiesBytes = size_t{256} << 20;  // of all connections together
inline constexpr size_t kMostParsedBytes = 64;                 // of memory, per byte of a body that is parsed
inline constexpr size_t kMostBufferBytes = size_t{64} << 10;   // read but not yet parsed
inline constexpr size_t kMostSkippedBytes =
    size_t{64} << 20;  // of a refused request, so that its client can read the reply
inline constexpr size_t kPieceBytes = size_t{64} << 10;  // of a reply, per write

inline constexpr seconds kMostIdle{30};       // until a request begins
inline constexpr seconds kMostHeadTime{10};   // from its first byte to the end of its fields
inline constexpr seconds kMostBodyTime{30};   // of the whole body
inline constexpr seconds kMostPause{5};       // between two bytes of a body
inline constexpr seconds kMostPieceTime{30};  // until the client has read a piece
inline constexpr seconds kMostSkipTime{5};
inline constexpr seconds kMostEndTime{2};  // for open answers where the server ends

}  // namespace smelt::server
