// What must hold of a part of attention on a CPU.
#include "runtime/plan/plan_checks.h"

#include <limits>

#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

using Spec = AttentionSpec;

/// Forward, of four heads that share two of keys; parameters q, k, v, y, lse and the workspace.
KernelCode forward() {
  KernelCode kernel;
  kernel.name = "k0_attention";
  kernel.parameters.resize(6);
  BlockedAttention attention;
  attention.spec.width = 8;
  attention.spec.batch = Dim::symbol("B"), attention.spec.heads = 4, attention.spec.key_heads = 2;
  attention.spec.queries = attention.spec.keys = 100;
  for (int i = 0; i < 4; ++i)
    attention.spec.matrices.push_back(
        {.param = i, .batch_stride = {}, .place_stride = {}, .head_stride = {}});
  attention.spec.rows = {4};
  attention.workspace = 5;
  kernel.attention = std::move(attention);
  return kernel;
}

using Change = void (*)(KernelCode&, BlockedAttention&);

std::string fault_of(Change change) {
  KernelCode kernel = forward();
  change(kernel, *kernel.attention);
  return testing::fault_of([&] { check_attention(kernel, {{{"B", 1}}, {{"B", 3}}}); });
}

struct Fault {
  const char* message;
  Change change;
};

const Fault kFaults[] = {
    {"accepted", [](KernelCode&, BlockedAttention&) {}},
    {"query_gradients: expected forward, gradients or element_gradient",
     [](KernelCode&, BlockedAttention& a) { a.spec.part = AttentionPart::query_gradients; }},
    {"4 matrices, 1 rows and 0 sums: expected 7, 0 and 0",
     [](KernelCode&, BlockedAttention& a) { a.spec.part = AttentionPart::gradients; }},
    {"3 matrices", [](KernelCode&, BlockedAttention& a) { a.spec.matrices.pop_back(); }},
    {"0 rows", [](KernelCode&, BlockedAttention& a) { a.spec.rows.clear(); }},
    {"-1 gradients: expected 0 to", [](KernelCode&, BlockedAttention& a) { a.spec.row_gradients = -1; }},
    {"parameter 6: expected one of 6",
     [](KernelCode&, BlockedAttention& a) { a.spec.matrices[2].param = 6; }},
    {"parameter -1: expected one of 6", [](KernelCode&, BlockedAttention& a) { a.workspace = -1; }},
    {"heads of i32: expected f32, bf16 or f16",
     [](KernelCode& k, BlockedAttention&) { k.parameters[1].dtype = DType::i32; }},
    {"parameter 4 is bf16: expected f32",
     [](KernelCode& k, BlockedAttention&) { k.parameters[4].dtype = DType::bf16; }},
    {"parameter 5 is f16: expected f32",
     [](KernelCode& k, BlockedAttention&) { k.parameters[5].dtype = DType::f16; }},
    {"tiles of 0: expected 1 to", [](KernelCode&, BlockedAttention& a) { a.tiles.queries = 0; }},
    {"tiles of 1000000: expected", [](KernelCode&, BlockedAttention& a) { a.tiles.keys = 1000000; }},
    {"0 lanes: expected 1 to", [](KernelCode&, BlockedAttention& a) { a.tiles.lanes = 0; }},
    {"heads 0 wide: expected 1 to", [](KernelCode&, BlockedAttention& a) { a.spec.width = 0; }},
    {"the scale nan",
     [](KernelCode&, BlockedAttention& a) { a.spec.scale = std::numeric_limits<double>::quiet_NaN(); }},
    {"4 heads share 3 of keys", [](KernelCode&, BlockedAttention& a) { a.spec.key_heads = 3; }},
    {"4 heads share 0 of keys", [](KernelCode&, BlockedAttention& a) { a.spec.key_heads = 0; }},
    {"the size B - 2 is -1", [](KernelCode&, BlockedAttention& a) { a.spec.batch = Dim::symbol("B") - 2; }},
};

TEST(AttentionCheck, RefusesWhatDoesNotFit) {
  for (const Fault& fault : kFaults)
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, fault.message, fault_of(fault.change));
}

}  // namespace
}  // namespace smelt
