#include "runtime/cuda/capture.h"

namespace smelt::cuda {
namespace {

constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

}  // namespace

GraphOwner captured(Stream stream, const std::function<void()>& launches) {
  const Driver& d = driver();
  check(d.StreamBeginCapture(stream, kCaptureThreadLocal), "capturing a graph");
  Graph graph = nullptr;
  try {
    launches();
  } catch (...) {
    d.StreamEndCapture(stream, &graph);
    if (graph) d.GraphDestroy(graph);
    throw;
  }
  check(d.StreamEndCapture(stream, &graph), "capturing a graph");
  GraphExec executable = nullptr;
  const int code = d.GraphInstantiate(&executable, graph, 0);
  d.GraphDestroy(graph);
  check(code, "making a graph");
  return GraphOwner(executable);
}

}  // namespace smelt::cuda
