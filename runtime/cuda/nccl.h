// NCCL, loaded when a plan of several ranks runs on a GPU for the first time. Types and constants repeat
// those of nccl.h, version 2.18 and later, so that building needs no NCCL.
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

/// ncclUniqueId, by which the ranks of a group find each other. One rank makes it and sends it to the others.
struct NcclId {
  std::array<char, 128> bytes{};
};

/// ncclConfig_t of version 2.17, which later versions accept. NCCL chooses the values of fields that are
/// kUnset.
struct NcclConfig {
  static constexpr int kUnset = INT_MIN;
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21700;
  int blocking = kUnset, cluster_size = kUnset;
  int least_blocks = kUnset, most_blocks = kUnset;  // thread blocks per kernel
  const char* network = nullptr;
};

/// Functions of NCCL under their names without the prefix "nccl". `sum` is kNcclAdd or kNcclMax.
struct Nccl {
  using Code = int;
  Code (*GetVersion)(int* version);
  Code (*GetUniqueId)(NcclId* id);
  Code (*CommInitRank)(NcclComm* comm, int ranks, NcclId id, int rank);
  Code (*CommInitRankConfig)(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config);
  Code (*CommDestroy)(NcclComm comm);  // may wait until the other ranks call it
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

  std::string path;  // of the library file
};

// Values of ncclDataType_t (kNcclBytes) and ncclRedOp_t.
inline constexpr int kNcclBytes = 1, kNcclAdd = 0, kNcclMax = 2;

/// Loads NCCL in the first call, from where DynamicLibrary looks. Throws Error (unavailable) if there is
/// none, or if its version is below 2.18.
const Nccl& nccl();
/// Throws Error with NCCL's message if `code` is an error.
void check_nccl(Nccl::Code code, const std::string& what);
/// Returns the ncclDataType_t of `dtype`. Throws Error for types that NCCL cannot sum.
int nccl_type(DType dtype);

struct NcclInfo {
  std::string path, version;  // version: "2.27.3"
};
/// Returns the file and the version of the library. Throws as nccl() does.
NcclInfo nccl_info();

}  // namespace smelt::cuda
