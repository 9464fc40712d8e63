// The verifier of the thread IR: what it refuses, and that it accepts the code of kernels.
#include "codegen/gpu/thread_ir/verify.h"

#include <gtest/gtest.h>

#include "codegen/gpu/thread_ir/body_builder.h"

namespace smelt::gpu {
namespace {

constexpr int kGroup = 64;  // threads

Expr parameter() { return variable("x", Type::stored(DType::bf16).pointer_to_const()); }
Expr result() { return variable("y", Type::stored(DType::bf16).pointer_to()); }

std::string faults_of(const BodyBuilder& out) {
  std::string all;
  for (const std::string& fault :
       verify({out.body(), {parameter(), result(), variable("n", Scalar::index)}, kGroup}))
    all += fault + "\n";
  return all;
}

Expr integer(const char* name) { return variable(name, Scalar::int32); }

TEST(ThreadIrVerifier, VariablesAreDeclaredBeforeTheyAreUsed) {
  BodyBuilder out;
  out.declare(Scalar::int32, "i", integer("n") + integer("j"));
  EXPECT_EQ(faults_of(out), "'j' is not declared\n");
}

TEST(ThreadIrVerifier, VariablesEndWithTheirBlock) {
  BodyBuilder out;
  out.open_scope();
  out.declare(Scalar::int32, "i", 1);
  out.close();
  out.declare(Scalar::int32, "j", integer("i"));
  EXPECT_EQ(faults_of(out), "'i' is not declared\n");
}

TEST(ThreadIrVerifier, InnerBlocksMayDeclareANameAgain) {
  BodyBuilder out;
  out.declare(Scalar::int32, "i", 1);
  out.open_scope();
  out.declare(Scalar::int32, "i", 2);
  out.close();
  EXPECT_EQ(faults_of(out), "");
  out.declare(Scalar::int32, "i", 3);
  EXPECT_EQ(faults_of(out), "'i' is declared twice in a block\n");
}

TEST(ThreadIrVerifier, ConstantsStayAsTheyAre) {
  BodyBuilder out;
  const Expr i = out.declare(Scalar::int32, "i", 1), j = out.declare_changing(Scalar::int32, "j", 1);
  out.set(j, i);
  EXPECT_EQ(faults_of(out), "");
  out.add_to(i, j);
  EXPECT_EQ(faults_of(out), "'i' is constant and is assigned to\n");
}

TEST(ThreadIrVerifier, TypesAgree) {
  const Expr real = real_number(1), one = 1, flag = number(1, Scalar::flag);
  const auto fault_of = [](const Expr& value) {
    BodyBuilder out;
    out.declare(value.type(), "v", value);
    return faults_of(out);
  };
  EXPECT_EQ(fault_of(cast(one, Scalar::real) + real), "");
  EXPECT_EQ(fault_of(one + real), "arithmetic and comparisons take two integers or two reals\n");
  EXPECT_EQ(fault_of(real % real), "a remainder, a shift and an operation on bits take integers\n");
  EXPECT_EQ(fault_of(flag && one), "a conjunction or disjunction takes flags\n");
  EXPECT_EQ(fault_of(!one), "a negation takes a flag\n");
  EXPECT_EQ(fault_of(choice(one, real, real)), "a choice takes a flag\n");
  EXPECT_EQ(fault_of(choice(flag, real, one)), "a choice is between values of one type\n");
  EXPECT_EQ(fault_of(element(parameter(), real)), "an index is an integer\n");
  EXPECT_EQ(fault_of(load(element(parameter(), one)) + real), "");
  EXPECT_EQ(fault_of(load(integer("n"))), "a load takes an element in memory\n");
}

TEST(ThreadIrVerifier, StoresTakeElementsThatTheKernelMayWrite) {
  BodyBuilder out;
  out.store(element(result(), 1), real_number(1));
  EXPECT_EQ(faults_of(out), "");
  out.store(element(parameter(), 1), real_number(1));
  EXPECT_EQ(faults_of(out), "a store takes an element in memory that the kernel may write\n");
}

TEST(ThreadIrVerifier, StoredNumbersHaveTheTypeThatTheElementIsComputedIn) {
  BodyBuilder out;
  out.store(element(result(), 1), 1);
  EXPECT_EQ(faults_of(out), "a number of another type is stored to 'y'\n");
}

// ---- barriers

constexpr const char* kBlockFault = "a barrier of a thread block is not reached by all of its threads\n";
constexpr const char* kGroupFault = "a barrier of a group is not reached by all of its threads\n";

void barrier_of_group(BodyBuilder& out) {
  out.append(Barrier{.of = Barrier::Of::group, .group = 1, .threads = kGroup});
}

/// Returns the faults of both barriers in a branch.
std::string faults_in_branch(const Expr& condition) {
  BodyBuilder out;
  out.open_if(condition);
  out.barrier();
  barrier_of_group(out);
  out.close();
  return faults_of(out);
}

TEST(ThreadIrVerifier, BarriersInBranches) {
  EXPECT_EQ(faults_in_branch(block_number() < integer("n")), "");
  EXPECT_EQ(faults_in_branch(thread_number() / kGroup == 0), kBlockFault);
  EXPECT_EQ(faults_in_branch(thread_number() % kGroup == 0), std::string(kBlockFault) + kGroupFault);
  EXPECT_EQ(faults_in_branch(thread_number() / 32 == 0), std::string(kBlockFault) + kGroupFault);
  EXPECT_EQ(faults_in_branch(load(element(parameter(), thread_number())) > real_number(0)), "")
      << "nothing is known of what is loaded";
}

TEST(ThreadIrVerifier, BarriersInLoops) {
  BodyBuilder out;
  const Expr group = out.declare(Scalar::int32, "group", thread_number() / kGroup);
  out.open_loop(Scalar::index, "row", group, integer("n"), 2);
  barrier_of_group(out);
  EXPECT_EQ((out.close(), faults_of(out)), "");
  out.barrier();
  EXPECT_EQ(faults_of(out), "") << "all threads leave the loop";
  out.open_loop(Scalar::index, "row", group, integer("n"), 2);
  out.barrier();
  EXPECT_EQ((out.close(), faults_of(out)), kBlockFault);
}

TEST(ThreadIrVerifier, BarriersAfterJumps) {
  BodyBuilder out;
  out.open_loop(Scalar::int32, "i", 0, 4, 1);
  out.where(thread_number() == 0, [&] { out.append(Jump{.next_iteration = true}); });
  out.close();
  out.barrier();
  EXPECT_EQ(faults_of(out), "") << "the loop has ended";
  out.where(thread_number() / kGroup == 0, [&] { out.leave(); });
  barrier_of_group(out);
  EXPECT_EQ(faults_of(out), "");
  out.barrier();
  EXPECT_EQ(faults_of(out), kBlockFault);
}

TEST(ThreadIrVerifier, JumpsToTheNextIterationAreInLoops) {
  BodyBuilder out;
  out.append(Jump{.next_iteration = true});
  EXPECT_EQ(faults_of(out), "there is no loop around a jump to the next iteration\n");
}

}  // namespace
}  // namespace smelt::gpu
