// Limits on the bytes, the memory and the time that the server spends on a client. A request that exceeds a
// limit is refused, or its connection is closed.
#pragma once

#include <chrono>
#include <cstddef>

namespace smelt::server {

using std::chrono::seconds;

inline constexpr size_t kMostHeadBytes = size_t{16} << 10;     // request line and header fields
inline constexpr size_t kMostFields = 128;                     // header fields of a request
inline constexpr size_t kMostBodyBytes = size_t{4} << 20;      // of one request
inline constexpr size_t kMostBodiesBytes = size_t{256} << 20;  // of the open bodies of all connections
inline constexpr size_t kMostParsedBytes = 64;  // memory reserved per byte of a body while it is parsed
inline constexpr size_t kMostBufferBytes = size_t{64} << 10;  // received from one client but not yet parsed
/// Input that is read and discarded after the last reply of a connection. If the connection were closed while
/// input is unread, the client could lose the reply.
inline constexpr size_t kMostSkippedBytes = size_t{64} << 20;
inline constexpr size_t kPieceBytes = size_t{64} << 10;  // part of a reply that is sent per write

inline constexpr seconds kMostIdle{30};       // wait for the first byte of a request
inline constexpr seconds kMostHeadTime{10};   // from a request's first byte to the end of its header fields
inline constexpr seconds kMostBodyTime{30};   // for reading a whole body
inline constexpr seconds kMostPause{5};       // wait for the next bytes of a body
inline constexpr seconds kMostPieceTime{30};  // for sending one piece (kPieceBytes)
inline constexpr seconds kMostSkipTime{5};    // for reading at most kMostSkippedBytes
inline constexpr seconds kMostEndTime{2};     // for open answers after the server was stopped

}  // namespace smelt::server
