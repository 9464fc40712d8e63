// NCCL, loaded when the first plan of several ranks runs on a GPU. Types and numbers are those of nccl.h 2.18
// and later, declared here so that building needs no NCCL.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/cuda/driver.h"

namespace smelt::cuda {

struct NcclCommTag;
using NcclComm = NcclCommTag*;

/// Identifier by which the ranks of a group find each other: made by one of them, passed by value.
struct NcclId {
  std::array<char, 128> bytes{};
};

/// ncclConfig_t as of 2.17, which later versions accept; they choose the fields that are kUnset.
struct NcclConfig {
  static constexpr int kUnset = INT_MIN;
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21700;
  int blocking = kUnset, cluster_size = kUnset;
  int least_blocks = kUnset, most_blocks = kUnset;  // of a kernel
  const char* network = nullptr;
};

struct Nccl {
  using Code = int;
  Code (*GetVersion)(int* version);
  Code (*GetUniqueId)(NcclId* id);
  Code (*CommInitRank)(NcclComm* comm, int ranks, NcclId id, int rank);
  Code (*CommInitRankConfig)(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config);
  Code (*CommDestroy)(NcclComm comm);  // may wait for the others to do so
  Code (*CommAbort)(NcclComm comm);
  Code (*AllReduce)(const void* from, void* to, size_t count, int type, int sum, NcclComm comm,
                    Stream stream);
  /// `count`: elements that each rank receives.
  Code (*ReduceScatter)(const void* from, void* to, size_t count, int type, int sum, NcclComm comm,
                        Stream stream);
  /// `count`: elements that each rank sends.
  Code (*AllGather)(const void* from, void* to, size_t count, int type, NcclComm comm, Stream stream);
  Code (*Send)(const void* from, size_t count, int type, int peer, NcclComm comm, Stream stream);
  Code (*Recv)(void* to, size_t count, int type, int peer, NcclComm comm, Stream stream);
  Code (*GroupStart)();
  Code (*GroupEnd)();
  const char* (*GetErrorString)(Code code);
  const char* (*GetLastError)(NcclComm comm);

  std::string path;
};

// ncclDataType_t of bytes; ncclRedOp_t
inline constexpr int kNcclBytes = 1, kNcclAdd = 0, kNcclMax = 2;

/// Loads NCCL: from the system's libraries, else from Python's package in $VIRTUAL_ENV. Throws Error
/// (unavailable) if it is not there, or older than 2.18.
const Nccl& nccl();
/// Throws Error with NCCL's message if `code` is an error.
void check_nccl(Nccl::Code code, const std::string& what);
/// ncclDataType_t of numbers that are summed. Throws Error for others.
int nccl_type(DType dtype);

struct NcclInfo {
  std::string path, version;  // "2.27.3"
};
/// Throws as nccl() does.
NcclInfo nccl_info();

}  // namespace smelt::cuda
