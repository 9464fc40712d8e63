#include "runtime/cuda/nccl.h"

#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/system/dynamic_library.h"

namespace smelt::cuda {
namespace {

constexpr int kOldestVersion = 21800;  // 2.18.0

constexpr const char* kNcclNames[] = {"libnccl.so.2", "libnccl.so"};

DynamicLibrary open_library() {
  return {"NCCL, which GPUs of several ranks need (Debian package libnccl2, Python package nvidia-nccl-cu13)",
          kNcclNames};
}

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// A rank may capture a graph while another launches one, so that capturing must not need the others:
/// registering the buffers of graphs does.
void keep_captures_apart() { ::setenv("NCCL_GRAPH_REGISTER", "0", 0); }

Nccl load_nccl() {
  keep_captures_apart();
  const DynamicLibrary library = open_library();
  Nccl n{};
  const auto get = [&](auto& function, const char* name) { library.load(function, name); };
  get(n.GetVersion, "ncclGetVersion"), get(n.GetUniqueId, "ncclGetUniqueId");
  get(n.CommInitRank, "ncclCommInitRank"), get(n.CommAbort, "ncclCommAbort");
  get(n.CommInitRankConfig, "ncclCommInitRankConfig"), get(n.CommDestroy, "ncclCommDestroy");
  get(n.AllReduce, "ncclAllReduce"), get(n.ReduceScatter, "ncclReduceScatter");
  get(n.AllGather, "ncclAllGather"), get(n.Send, "ncclSend"), get(n.Recv, "ncclRecv");
  get(n.GroupStart, "ncclGroupStart"), get(n.GroupEnd, "ncclGroupEnd");
  get(n.GetErrorString, "ncclGetErrorString"), get(n.GetLastError, "ncclGetLastError");
  n.path = library.path();
  int version = 0;
  if (n.GetVersion(&version) != 0 || version < kOldestVersion)
    fail_with(Status::unavailable, "NCCL ({}) is version {}: expected {} or later", n.path,
              version_text(version), version_text(kOldestVersion));
  return n;
}

}  // namespace

const Nccl& nccl() {
  static const Nccl loaded = load_nccl();
  return loaded;
}

void check_nccl(Nccl::Code code, const std::string& what) {
  if (code == 0) return;
  const char *text = nccl().GetErrorString(code), *last = nccl().GetLastError(nullptr);
  const bool says_more = last && *last;
  fail_with(Status::internal, "NCCL: {} failed: {}{}{}{}", what, text ? text : std::to_string(code),
            says_more ? " (" : "", says_more ? last : "", says_more ? ")" : "");
}

int nccl_type(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return 0;
    case DType::u8:
      return 1;
    case DType::i32:
      return 2;
    case DType::i64:
      return 4;
    case DType::f16:
      return 6;
    case DType::f32:
      return 7;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 9;
    default:
      fail_with(Status::internal, "NCCL: a sum of {} numbers over ranks: expected floats, i32 or i64",
                name(dtype));
  }
}

NcclInfo nccl_info() {
  int version = 0;
  check_nccl(nccl().GetVersion(&version), "asking for its version");
  return {nccl().path, version_text(version)};
}

}  // namespace smelt::cuda
