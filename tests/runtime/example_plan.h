// A small plan for tests, with kernels, GEMMs, fills, copies and a sort, whose results are easy to predict.
#pragma once

#include <fstream>
#include <iterator>

#include "runtime/plan/plan.h"

namespace smelt::example {

inline std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

/// Indices of the buffers of plan().
enum Index { x, y, weights, counter, z, split_sums, sorted, begins, ids, total, ones, zt };

/// Returns a buffer; `most` is the upper bound of the number of elements.
inline Buffer buffer(std::string name, Role role, DType dtype, Dim elements, int64_t most) {
  Buffer b;
  b.name = std::move(name), b.role = role, b.dtype = dtype, b.elements = std::move(elements);
  b.bytes = most * size_of(dtype);
  return b;
}

/// Returns a temporary buffer at byte `offset` of the arena. It is used from step `first` to step `last`.
inline Buffer arena(std::string name, DType dtype, Dim elements, int64_t most, int64_t offset, int first,
                    int last) {
  Buffer b = buffer(std::move(name), Role::temporary, dtype, std::move(elements), most);
  b.offset_bytes = offset, b.first_step = first, b.last_step = last;
  return b;
}

/// Returns a step that reads and writes the buffers with these indices.
inline Step step(decltype(Step::what) what, std::vector<int> reads, std::vector<int> writes,
                 std::string source) {
  Step s;
  s.what = std::move(what), s.reads = std::move(reads), s.writes = std::move(writes);
  s.sources = {std::move(source)}, s.phase = "forward";
  return s;
}

/// Return a float parameter that a kernel reads or writes, with these strides along the axes of the kernel.
inline KernelParameter reads(std::vector<Dim> strides) { return {.accesses = {{0, std::move(strides)}}}; }
inline KernelParameter writes(std::vector<Dim> strides) {
  return {.read = false, .written = true, .accesses = {{0, std::move(strides)}}};
}

/// Returns a matrix in buffer `b` with these strides of rows and columns.
inline GemmStep::Matrix matrix(int b, Dim row, Dim column) {
  return {{b, 0}, std::move(row), std::move(column)};
}

/// Returns a plan with the entry "run": z = x + 1, where x is [B,T,4]; y = z W^T, where W [3,4] is the
/// segment "w" of the state "parameters"; zt = z transposed; partial sums of z; total = 2.5 + their sum; ids
/// sorted; step = step + 1. Bounds: B <= 5, T <= 7, B*T <= 21.
inline Plan plan() {
  const Dim B = Dim::symbol("B"), T = Dim::symbol("T"), rows = B * T;
  Plan p;
  p.target = "cpu";
  p.model = R"({"note": "example"})";
  p.symbols.bound({"B"}, 5), p.symbols.bound({"T"}, 7), p.symbols.bound({"B", "T"}, 21);
  State w{"parameters", Role::parameter, DType::f32, {Dim(16)}, {}, {}};
  w.segments = {{"w", {3, 4}, 0, {Initializer::Kind::normal, 0.02, 7}, true, {"w.weight", "w"}, true},
                {"b", {3}, 12, {}, false, {"w.bias"}, false}};
  p.states = {w, {"step", Role::state, DType::f32, {}, {Initializer::Kind::value, 0, 0}, {}}};
  p.buffers = {buffer("x", Role::input, DType::f32, rows * 4, 84),
               buffer("y", Role::output, DType::f32, rows * 3, 63),
               buffer("weights", Role::parameter, DType::f32, 16, 16),
               buffer("counter", Role::state, DType::f32, 1, 1),
               arena("z", DType::f32, rows * 4, 84, 0, 1, 7),
               arena("split_sums", DType::f32, 4, 4, 384, 3, 7),
               arena("sorted", DType::i32, rows, 21, 448, 4, 7),
               arena("begins", DType::i32, 10, 10, 576, 4, 7),
               buffer("ids", Role::input, DType::i32, rows, 21),
               arena("total", DType::f32, 1, 1, 640, 0, 7),
               buffer("ones", Role::constant, DType::f32, 4, 4),
               arena("zt", DType::f32, rows * 4, 84, 704, 2, 7)};
  p.buffers[weights].state = 0, p.buffers[counter].state = 1;
  const std::vector<float> one(4, 1.0f);
  p.buffers[ones].data.assign(reinterpret_cast<const std::byte*>(one.data()),
                              reinterpret_cast<const std::byte*>(one.data() + 4));
  p.kernels = {
      {"add_one", "kernel @add_one", {Dim(4)}, rows, 2, 0, 0, {reads({4, 1}), writes({4, 1})}, {rows, 4}},
      {"partial_sum", "", {}, rows * 4, 1, 4, 0, {reads({1}), writes({0, 1})}, {rows * 4, 4}},
      {"count_up", "", {}, 1, 1, 0, 0, {{.written = true, .accesses = {{}}}}, {}}};
  PlanEntry e;
  e.name = "run";
  e.inputs = {{"x", DType::f32, {B, T, 4}, x}, {"ids", DType::i32, {B, T}, ids, true, IdRange{9, -1}}};
  e.outputs = {{"y", DType::f32, {B, T, 3}, y},        {"z", DType::f32, {B, T, 4}, z},
               {"zt", DType::f32, {4, B, T}, zt},      {"sums", DType::f32, {4}, split_sums},
               {"sorted", DType::i32, {B, T}, sorted}, {"begins", DType::i32, {10}, begins},
               {"total", DType::f32, {}, total},       {"step", DType::f32, {}, counter}};
  GemmStep gemm{matrix(z, 4, 1), matrix(weights, 1, 4), matrix(y, 3, 1), rows, 3, 4};
  GemmStep sum{matrix(split_sums, 1, 1), matrix(ones, 1, 1), matrix(total, 1, 1), 1, 1, 4};
  sum.beta = 1;
  e.steps = {step(FillStep{{total, 0}, 1, 2.5}, {}, {total}, "total"),
             step(KernelStep{0, {{x, 0}, {z, 0}}, {}}, {x}, {z}, "z"),
             step(CopyStep{{z, 0}, {zt, 0}, {rows, 4}, {4, 1}, {1, rows}, DType::f32}, {z}, {zt}, "zt"),
             step(KernelStep{1, {{z, 0}, {split_sums, 0}}, {}}, {z}, {split_sums}, "sums"),
             step(SortIndexStep{{ids, 0}, {sorted, 0}, {begins, 0}, rows, 9}, {ids}, {sorted, begins}, "ids"),
             step(gemm, {z, weights}, {y}, "y"),
             step(sum, {split_sums, ones}, {total}, "sum"),
             step(KernelStep{2, {{counter, 0}}, {}}, {counter}, {counter}, "step")};
  e.arena_bytes = 1088;
  p.entries = {e};
#ifdef SMELT_TEST_KERNELS
  p.binary = read_bytes(SMELT_TEST_KERNELS);
#endif
  return p;
}

}  // namespace smelt::example
