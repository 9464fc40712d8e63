// Registers, stack and shared memory of machine code, and how many blocks of it a multiprocessor holds.
#include "compiler/report/kernel_resources.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

void add(std::vector<std::byte>& to, const void* from, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

/// A cubin with what is read of one: sections of these names and contents.
class Cubin64 {
 public:
  Cubin64() { add_section("", {}); }

  void add_section(const std::string& name, const std::vector<std::byte>& content, uint64_t size = 0) {
    Elf64_Shdr section = {};
    section.sh_name = static_cast<Elf64_Word>(names_.size());
    section.sh_offset = sizeof(Elf64_Ehdr) + contents_.size();
    section.sh_size = size != 0 ? size : content.size();
    names_ += name + '\0';
    contents_.insert(contents_.end(), content.begin(), content.end());
    sections_.push_back(section);
  }

  std::vector<std::byte> bytes() {
    std::vector<std::byte> names(names_.size());
    std::memcpy(names.data(), names_.data(), names_.size());
    add_section("", names);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header + contents_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
    std::vector<std::byte> file;
    add(file, &header, sizeof header);
    add(file, contents_.data(), contents_.size());
    add(file, sections_.data(), sections_.size() * sizeof(Elf64_Shdr));
    return file;
  }

 private:
  std::string names_;
  std::vector<std::byte> contents_;
  std::vector<Elf64_Shdr> sections_;
};

std::vector<std::byte> attributes(std::initializer_list<std::array<uint32_t, 2>> numbers) {
  std::vector<std::byte> bytes;
  const uint8_t flag[] = {3, 0x50, 0, 0};  // has its value in itself
  add(bytes, flag, sizeof flag);
  for (const auto& [attribute, value] : numbers) {
    const uint8_t head[] = {4, static_cast<uint8_t>(attribute), 8, 0};
    const uint32_t content[] = {7, value};
    add(bytes, head, sizeof head), add(bytes, content, sizeof content);
  }
  return bytes;
}

std::vector<std::byte> example() {
  Cubin64 cubin;
  cubin.add_section(".nv.info", attributes({{0x2f, 40}, {0x11, 8}, {0x12, 16}, {0x2f, 24}}));
  cubin.add_section(".text.k", std::vector<std::byte>(32));
  cubin.add_section(".nv.shared.k", {}, 1248);  // takes no bytes of the file
  return cubin.bytes();
}

TEST(CubinResources, AreThoseOfTheAttributes) {
  const auto found = cubin_resources(example(), "k");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->registers, 40);
  EXPECT_EQ(found->stack_bytes, 16);
  EXPECT_EQ(found->shared_bytes, 1248);
  EXPECT_FALSE(cubin_resources(example(), "other"));
  EXPECT_FALSE(cubin_resources({}, "k"));
}

/// Plans are not trusted: no byte outside of the file is read, which the sanitizer's build would see.
TEST(CubinResources, OfDamagedCodeAreNothingOrSomeNumbers) {
  const std::vector<std::byte> whole = example();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(cubin_resources(cut, "k")) << size;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> wrong = whole;
    for (unsigned count = random() % 8 + 1; count-- > 0;)
      wrong[random() % wrong.size()] = random() % 2 == 0 ? std::byte{255} : std::byte(random());
    if (const auto found = cubin_resources(wrong, "k")) {
      EXPECT_TRUE(found->registers >= 0 && found->registers <= 255);
      EXPECT_TRUE(found->stack_bytes >= 0 && found->shared_bytes >= 0);
    }
  }
}

/// What the compiler itself reports.
TEST(CubinResources, AreThoseThatTheCompilerReports) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  const char* const text = R"(
extern "C" __global__ void k(float* x, int n) {
  __shared__ float s[300];
  volatile float own[20];
  for (int i = 0; i < 20; ++i) own[(i * n) % 20] = x[i];
  s[threadIdx.x] = own[n % 20];
  __syncthreads();
  x[threadIdx.x] = s[n] + own[3];
})";
  for (const int capability : {80, 90, 100}) {
    const Cubin cubin = compile_cuda(CudaSource{text, "k"}, capability);
    const auto found = cubin_resources(cubin.bytes, "k");
    ASSERT_TRUE(found) << capability;
    EXPECT_EQ(found->registers, cubin.resources.registers) << capability;
    EXPECT_EQ(found->stack_bytes, cubin.resources.stack_bytes) << capability;
    EXPECT_EQ(found->shared_bytes, cubin.resources.shared_bytes) << capability;
    EXPECT_GE(found->stack_bytes, 80);
  }
}

// ---- occupancy, as NVIDIA's calculator has it

Occupancy of(int capability, int threads, int registers, int64_t shared) {
  return occupancy({threads, registers, shared}, device_model(capability), capability);
}

void expect(const Occupancy& found, int blocks, double share, std::string_view bound) {
  EXPECT_EQ(found.blocks, blocks);
  EXPECT_DOUBLE_EQ(found.share, share);
  EXPECT_EQ(found.bound, bound);
}

TEST(Occupancy, IsBoundedByWhatRunsOutFirst) {
  expect(of(90, 256, 32, 0), 8, 1, "threads");
  expect(of(90, 256, 40, 0), 6, 0.75, "registers");
  expect(of(90, 256, 64, 0), 4, 0.5, "registers");
  expect(of(90, 128, 255, 0), 2, 0.125, "registers");
  expect(of(90, 32, 16, 0), 32, 0.5, "blocks");
  expect(of(90, 128, 32, 100 << 10), 2, 0.125, "shared memory");
  expect(of(90, 1024, 64, 0), 1, 0.5, "registers");
  expect(of(86, 32, 16, 0), 16, 1.0 / 3, "blocks");
  expect(of(89, 512, 32, 0), 3, 1, "threads");
  expect(of(80, 33, 32, 0), 32, 1, "threads");
}

TEST(Occupancy, OfNoBlockIsNothing) {
  EXPECT_EQ(of(90, 0, 32, 0).blocks, 0);
  EXPECT_EQ(of(90, 4096, 32, 0).blocks, 0);
  EXPECT_EQ(of(90, 32, 32, int64_t{1} << 32).blocks, 0);
}

TEST(KernelResources, AreOfBlocksAsTheyAreLaunched) {
  KernelCode kernel;
  kernel.name = "k";
  kernel.threads = 128, kernel.shared_bytes = 4096, kernel.binary = example();
  const auto found = kernel_resources(kernel, parse_target("sm_90"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->launch_shared_bytes, 4096);
  EXPECT_EQ(found->occupancy.blocks, of(90, 128, 40, 4096 + 1248).blocks);
  kernel.shared_bytes = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(kernel_resources(kernel, parse_target("sm_90"))->occupancy.blocks, 0);
  kernel.binary.clear();
  EXPECT_FALSE(kernel_resources(kernel, parse_target("sm_90")));
}

}  // namespace
}  // namespace smelt
