// Every command on the golden model, and what the commands print.
#include <nlohmann/json.hpp>
#include <regex>

#include "compiler/cli/shared/npy.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;
using Commands = CommandLine;

TEST_F(Commands, EveryCommandExplainsItself) {
  for (const char* command : {"compile", "dump", "report", "diff", "opt", "run", "train", "evaluate",
                              "generate", "tokenize", "verify", "bench", "doctor"}) {
    const Outcome outcome = smelt(std::string(command) + " --help");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_TRUE(has(outcome.out, "Options:")) << outcome.out;
    EXPECT_TRUE(has(smelt("--help").out, command));
  }
  EXPECT_TRUE(has(smelt("--version").out, "smelt 0."));
}

TEST_F(Commands, MistakesOfUseEndWith2) {
  for (const char* arguments :
       {"", "melt", "compile", "compile $GOLDEN --no-such-option", "dump $GOLDEN --emit=soup",
        "train $GOLDEN --steps=many", "compile $GOLDEN --target=toaster"}) {
    const Outcome outcome = smelt(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.err;
    EXPECT_TRUE(has(outcome.err, "error: ")) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "--help")) << outcome.err;
  }
}

TEST_F(Commands, CompileWritesAPlanThatRuns) {
  const Outcome compiled = smelt("compile $GOLDEN --max B=2,T=16 --timing -o model.plan");
  expect_good(compiled);
  for (const char* part : {"planned memory", "parameter", "train_step", "kernels"})
    EXPECT_TRUE(has(compiled.out, part)) << compiled.out;
  EXPECT_TRUE(has(compiled.err, "total")) << compiled.err;
  const Outcome ids = smelt("generate model.plan --weights $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 6");
  expect_good(ids);
  EXPECT_EQ(ids.out, smelt("generate $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 6").out);
  expect_error(smelt("run model.plan --entry logits"), "model.plan: there are no weights beside it");
}

TEST_F(Commands, InferencePlansHoldNoTraining) {
  expect_good(smelt("compile $GOLDEN --mode=infer --max T=8 -o model.plan"));
  const Outcome plan = smelt("dump $GOLDEN --mode=infer --max T=8 --emit=plan");
  EXPECT_TRUE(has(plan.out, "logits")) << plan.out;
  EXPECT_FALSE(has(plan.out, "train_step")) << plan.out;
  write_text("text.txt", 20);
  expect_error(smelt("evaluate model.plan --weights $GOLDEN --data text.txt --data-format bytes --length 8"),
               "evaluate");
}

TEST_F(Commands, GenerationKeepsKeysAndValuesUnlessToldNotTo) {
  const std::string command = "generate $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 9 --timing ";
  const Outcome cached = smelt(command), whole = smelt(command + "--no-kv-cache");
  expect_good(cached), expect_good(whole);
  EXPECT_EQ(cached.out, whole.out);
  EXPECT_TRUE(has(cached.err, "cache ") && has(cached.err, "9 new tokens in ")) << cached.err;
  EXPECT_FALSE(has(whole.err, "cache ")) << whole.err;
  expect_good(smelt("compile $GOLDEN --mode=infer --max B=2,T=8 -o model.plan"));
  EXPECT_TRUE(has(smelt("dump $GOLDEN --mode=infer --max T=8 --emit=plan").out, "decode"));
  EXPECT_FALSE(has(smelt("dump $GOLDEN --mode=infer --no-kv-cache --max T=8 --emit=plan").out, "decode"));
  expect_error(smelt("compile $GOLDEN --kv-cache"), "expected --mode=infer");
}

TEST_F(Commands, TokenizeThereAndBack) {
  const std::string tokenizers = (fs::path(SMELT_SOURCE_DIR) / "tests/runtime/tokenizers/goldens").string();
  const Outcome ids = smelt("tokenize " + tokenizers + "/gpt2 --text 'the graph'");
  expect_good(ids);
  spill(path("ids.txt"), ids.out);
  const Outcome text = smelt("tokenize " + tokenizers + "/gpt2 --decode --file ids.txt");
  EXPECT_EQ(text.out, "the graph\n");
  const Outcome bert = smelt("tokenize " + tokenizers + "/bert-cased --text 'a b' --json --offsets");
  const Json json = Json::parse(bert.out);
  EXPECT_EQ(json["tokens"], Json({"[CLS]", "a", "b", "[SEP]"}));
  EXPECT_EQ(json["offsets"], Json::parse("[[0,0],[0,1],[2,3],[0,0]]"));
  EXPECT_EQ(smelt("tokenize " + tokenizers + "/bert-cased --text a --no-special-tokens").out,
            std::to_string(json["ids"][1].get<int>()) + "\n");
  expect_error(smelt("tokenize $GOLDEN --text a"), "no tokenizer: expected tokenizer.json");
  expect_error(smelt("tokenize " + tokenizers + "/gpt2 --text a --file ids.txt"), "give one of them");
}

TEST_F(Commands, PromptsGoThroughTheModelsTokenizer) {
  expect_good(shell("cp -r '" + kGolden.string() + "' model"));
  spill(
      path("model/tokenizer.json"),
      R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "three": 3, "one": 1, "four": 4}},
            "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  const Outcome text = smelt("generate model --prompt 'three one four' --max-new-tokens 4 --json");
  expect_good(text);
  const Outcome ids = smelt("generate model --ids '3 1 4' --max-new-tokens 4 --json");
  EXPECT_EQ(Json::parse(text.out)["new_ids"], Json::parse(ids.out)["new_ids"]);
  EXPECT_TRUE(Json::parse(text.out)["text"].get<std::string>().starts_with("three one four")) << text.out;
  EXPECT_TRUE(
      smelt("generate model --prompt 'three one four' --max-new-tokens 4").out.starts_with("three one four"));
}

TEST_F(Commands, DumpShowsEveryLevel) {
  const std::pair<const char*, const char*> cases[] = {{"--emit=graph", "graph @loss"},
                                                       {"--emit=fused", "fusion"},
                                                       {"--emit=program", "train_step"},
                                                       {"--emit=kernels", "kernel @"},
                                                       {"--emit=llvm", "define"},
                                                       {"--emit=plan", "target cpu"},
                                                       {"--emit=fused --format=dot", "digraph"},
                                                       {"--summary", "bound by"},
                                                       {"--explain-fusion", "kinds"},
                                                       {"--emit=kernels --filter=h.1.ln_1", "kernel @"}};
  for (const auto& [arguments, part] : cases) {
    const Outcome outcome = smelt(std::string("dump $GOLDEN --max B=2,T=16 ") + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.err;
    EXPECT_TRUE(has(outcome.out, part)) << arguments << "\n" << outcome.out.substr(0, 500);
  }
}

TEST_F(Commands, DumpShowsEachTargetsOwnCode) {
  expect_error(smelt("dump $GOLDEN --max B=2,T=16 --emit=llvm --target=sm_90"), "give --emit=cuda");
}

TEST_F(Commands, DumpedJsonReads) {
  for (const char* level : {"graph", "fused", "program", "kernels", "plan"}) {
    const Outcome outcome = smelt(std::string("dump $GOLDEN --max B=2,T=16 --format=json --emit=") + level);
    EXPECT_EQ(outcome.status, 0) << level << outcome.err;
    EXPECT_FALSE(Json::parse(outcome.out, nullptr, false).is_discarded()) << level;
  }
}

TEST_F(Commands, DumpFilterKeepsOneLayer) {
  const Outcome all = smelt("dump $GOLDEN --max B=2,T=16 --emit=graph");
  const Outcome one = smelt("dump $GOLDEN --max B=2,T=16 --emit=graph --filter=h.1.");
  EXPECT_TRUE(has(one.out, "h.1.")) << one.out;
  EXPECT_FALSE(has(one.out, "\"h.0.")) << one.out;
  EXPECT_LT(one.out.size(), all.out.size());
}

TEST_F(Commands, DumpDirectoryHoldsGraphsKernelsAndMemory) {
  expect_good(smelt("dump $GOLDEN --max B=2,T=16 --entry=logits --summary --dump-dir=stages"));
  EXPECT_TRUE(fs::exists(path("stages/memory.json")));
  EXPECT_FALSE(Json::parse(slurp(path("stages/memory.json")), nullptr, false).is_discarded());
  int graphs = 0, kernels = 0, code = 0;
  for (const auto& file : fs::recursive_directory_iterator(path("stages"))) {
    graphs += file.path().extension() == ".ir";
    kernels += file.path().extension() == ".kernel";
    code += file.path().extension() == ".ll";
  }
  EXPECT_GT(graphs, 3);
  EXPECT_GT(kernels, 3);
  EXPECT_EQ(kernels, code);
}

TEST_F(Commands, OptPrintsWhatDumpReadsBack) {
  expect_good(smelt("dump $GOLDEN --mode=infer --max B=2,T=16 --emit=graph -o graph.ir"));
  expect_good(smelt("opt graph.ir --pipeline=decompose,simplify -o simple.ir"));
  const Outcome again = smelt("opt simple.ir --pipeline=simplify");
  expect_good(again);
  EXPECT_TRUE(has(again.out, "graph @logits"));
  EXPECT_FALSE(has(again.out, "layer_norm %")) << "decomposed";
  EXPECT_TRUE(has(smelt("opt --list").out, "simplify"));
  EXPECT_TRUE(has(smelt("opt --list").out, "row_barriers"));
}

TEST_F(Commands, OptRunsPassesOverAKernel) {
  const std::string text =
      "\n// RUN: unrounded_stores\nkernel @k(%x: f32, out %y: bf16) column c = 8 { column { "
      "%0 = load %x[c] : f32; %1 = convert %0 : bf16; store %y[c] = %1 : bf16 } }\n";
  spill(path("one.kernel"), text);
  const Outcome outcome = smelt("opt one.kernel");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "store %y[c] = %0 : bf16")) << outcome.out;
  const Outcome traced = smelt("opt one.kernel --pipeline=collapse_axes --print-after-all");
  EXPECT_TRUE(has(traced.out, "store %y[c] = %1 : bf16")) << traced.out;
  EXPECT_TRUE(has(traced.err, "// after collapse_axes\nkernel @k(")) << traced.err;
  expect_error(smelt("opt one.kernel --pipeline=colapse_axes"), "did you mean collapse_axes");
  expect_error(smelt("opt one.kernel --graph=loss"),
               "one.kernel is a kernel: --graph selects a graph of a module");
  spill(path("wrong.kernel"), "kernel @k() { row { %0 = ad %1, %2 : f32 } }");
  expect_error(smelt("opt wrong.kernel --pipeline=collapse_axes"), "wrong.kernel:1:26");
}

TEST_F(Commands, OptSaysWhereTextIsWrong) {
  spill(path("wrong.ir"), "graph @main(%x: f32[3]) {\n  %y = wobble %x : f32[3]\n}\n");
  const Outcome outcome = smelt("opt wrong.ir --pipeline=simplify");
  expect_error(outcome, "wrong.ir:2:");
  EXPECT_TRUE(has(outcome.err, "^")) << outcome.err;
  expect_error(smelt("opt wrong.ir --pipeline=juggle"), "wrong.ir");
  expect_error(smelt("opt missing.ir --pipeline=simplify"), "missing.ir");
}

TEST_F(Commands, VerifyMeetsTheGoldenAndNoticesOtherWeights) {
  const Outcome outcome = smelt("verify $GOLDEN --target cpu");
  expect_good(outcome);
  for (const char* part :
       {"logits", "loss", "all gradients as one vector", "gradient of transformer.wte.weight",
        "loss of AdamW step 10", "greedy ids of prompt 0", " 0 failed"})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
  fs::copy(kGolden, path("other"));
  std::string weights = slurp(path("other/model.safetensors"));
  weights[weights.size() - 2] ^= 0x20;  // an exponent bit of the last weight
  spill(path("other/model.safetensors"), weights);
  const Outcome wrong = smelt("verify other");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(has(wrong.out, "FAILED")) << wrong.out;
}

TEST_F(Commands, VerifyOfBytesComparesLogitsAndSaysWhatIsLeftOut) {
  const Outcome outcome = smelt("verify $GOLDEN --target cpu --weight-type int8");
  expect_good(outcome);
  for (const char* part :
       {"logits", "4.00e-02", "loss, gradients, AdamW losses", "left out: weights are bytes",
        "greedy ids of prompt 0", "generated, ", " 0 failed"})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
  fs::copy(kGolden, path("other"));
  std::string weights = slurp(path("other/model.safetensors"));
  weights[weights.size() - 1] ^= 0x40;  // the highest exponent bit of the last weight
  spill(path("other/model.safetensors"), weights);
  const Outcome wrong = smelt("verify other --weight-type int8");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(has(wrong.out, "FAILED")) << wrong.out;
}

/// Bounds of gradients grow by what rounding the weights does to them, and by nothing else.
TEST_F(Commands, VerifyInHalfPrecisionNoticesAnotherActivation) {
  fs::copy(fs::path(kGolden).parent_path() / "opt", path("other"));
  expect_good(smelt("verify other --target cpu --precision fp16"));
  Json config = Json::parse(slurp(path("other/config.json")));
  config["activation_function"] = "gelu";
  spill(path("other/config.json"), config.dump());
  const Outcome wrong = smelt("verify other --target cpu --precision fp16");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(std::regex_search(wrong.out, std::regex("all gradients as one vector .* FAILED"))) << wrong.out;
}

/// Among what is recorded are n-grams, phrases, penalties and beams with them.
TEST_F(Commands, VerifyComparesWhatThePlanChooses) {
  const Outcome outcome = smelt("verify $GOLDEN --target cpu --sampler");
  expect_good(outcome);
  for (const char* part : {"greedy ids of prompt 0", "generated, ", " 0 failed"})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
  EXPECT_TRUE(has(smelt("verify --help").out, "--sampler"));
}

TEST_F(Commands, RunReadsAndWritesTensors) {
  const std::vector<int32_t> ids = {5, 1, 130, 7, 2, 9};
  HostTensor input{"input_ids", DType::i32, {2, 3}, {}};
  input.bytes.assign(reinterpret_cast<const std::byte*>(ids.data()),
                     reinterpret_cast<const std::byte*>(ids.data() + 6));
  write_npy(path("ids.npy"), input);
  const Outcome outcome = smelt(
      "run $GOLDEN --entry logits --input input_ids=ids.npy --save logits=logits.npy -o all.safetensors");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "f32[2,3,131]")) << outcome.out;
  const HostTensor logits = read_npy(path("logits.npy"));
  EXPECT_EQ(logits.shape, (std::vector<int64_t>{2, 3, 131}));
  const Checkpoint all = Checkpoint::open(path("all.safetensors"));
  const auto stored = all.at("logits").bytes;
  EXPECT_TRUE(std::equal(stored.begin(), stored.end(), logits.bytes.begin(), logits.bytes.end()));
  expect_error(smelt("run $GOLDEN --entry logits"), "input_ids");
  expect_error(smelt("run $GOLDEN --entry nothing --input input_ids=ids.npy"), "there are");
}

TEST_F(Commands, RunAcceptsNumPysDefaultIntegers) {
  const std::vector<int64_t> ids = {5, 1, 130};
  HostTensor input{"input_ids", DType::i64, {1, 3}, {}};
  input.bytes.assign(reinterpret_cast<const std::byte*>(ids.data()),
                     reinterpret_cast<const std::byte*>(ids.data() + 3));
  write_npy(path("ids.npy"), input);
  expect_good(smelt("run $GOLDEN --input input_ids=ids.npy"));
}

TEST_F(Commands, GenerateIsGreedyByDefaultAndRepeatable) {
  const std::string greedy = smelt("generate $GOLDEN --ids '3 1 4' --max-new-tokens 5").out;
  EXPECT_TRUE(has(greedy, "3 1 4 ")) << greedy;
  EXPECT_EQ(smelt("generate $GOLDEN --ids '3 1 4' --max_new_tokens 5 --do_sample --temperature 0").out,
            greedy);
  const std::string drawn =
      "generate $GOLDEN --ids '3 1 4' --max-new-tokens 20 --do-sample --temperature 2 --eos-token-id '' ";
  EXPECT_EQ(smelt(drawn + "--seed 1").out, smelt(drawn + "--seed 1").out);
  EXPECT_NE(smelt(drawn + "--seed 1").out, smelt(drawn + "--seed 2").out);
  const Json json = Json::parse(
      smelt("generate $GOLDEN --ids '3 1 4' --ids '3 1 4' --json --max-new-tokens 4").out.substr(0, 40),
      nullptr, false);
  EXPECT_TRUE(json.is_discarded() || json.is_object());
  expect_error(smelt("generate $GOLDEN --ids '3' --num-beams 0"), "num_beams 0: expected 1 to 64");
}

TEST_F(Commands, DoctorListsWhatItFound) {
  const Outcome outcome = smelt("doctor --no-measure");
  expect_good(outcome);
  for (const char* part : {"processor", "OpenMP", "BLAS", "LLVM", "cuBLASLt", "cache directory"})
    EXPECT_TRUE(has(outcome.out, part)) << outcome.out;
}

/// The fake GPU's libraries are found in the place of NVIDIA's.
const std::string fake = "'" + (fs::path(SMELT_BINARY_DIR) / "tests/fake_gpu").string() + "'";

TEST_F(Commands, DoctorShowsAGpuAndItsLibraries) {
  const Outcome outcome = shell("export SMELT_CACHE_DIR=cache LD_LIBRARY_PATH=" + fake + "; " + binary() +
                                " doctor --no-measure");
  expect_good(outcome);
  for (const char* part : {"Fake GPU, sm_90, 4 multiprocessors, 1.0 GiB free of 1.0 GiB",
                           "CUDA 13.0, kernel module", "fake_gpu/libcuda.so.1", "13.1.0, ",
                           "fake_gpu/libcublasLt.so.13", "NVRTC", "NVTX", "cache: 0 files, 0 B, writable"})
    EXPECT_TRUE(has(outcome.out, part)) << part << " in " << outcome.out;
}

TEST_F(Commands, DoctorSaysInALineThatThereIsNoDriver) {
  const Outcome outcome = shell(binary() + " doctor --no-measure");
  expect_good(outcome);
  if (has(outcome.out, "kernel module")) GTEST_SKIP() << "there is one";
  EXPECT_TRUE(has(outcome.out, "the CUDA driver was not found: looked for libcuda.so.1")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "GPU 0")) << outcome.out;
}

TEST_F(Commands, DoctorSaysWhatIsWrongWithADriver) {
  const Outcome old = shell("LD_LIBRARY_PATH=" + fake + "/old " + binary() + " doctor --no-measure");
  expect_good(old);
  EXPECT_TRUE(has(old.out, "libcuda.so.1) has no function 'cuGetErrorName': a newer version is needed"))
      << old.out;
  const Outcome none =
      shell("export FAKE_GPU_COUNT=0 LD_LIBRARY_PATH=" + fake + "; " + binary() + " doctor --no-measure");
  expect_good(none);
  EXPECT_TRUE(has(none.out, "does not start: no CUDA-capable device is detected")) << none.out;
}

TEST_F(Commands, APlanForAGpuNeedsOne) {
  if (!has(shell(binary() + " doctor --no-measure").out, "the CUDA driver was not found"))
    GTEST_SKIP() << "there is a driver";
  const Outcome compiled = smelt("compile $GOLDEN --mode infer --target sm_90 -o x.plan");
  if (has(compiled.err, "NVRTC was not found")) GTEST_SKIP() << compiled.err;
  expect_good(compiled);
  const Outcome outcome = smelt("run x.plan --from-scratch");
  expect_error(outcome, "the CUDA driver was not found: looked for libcuda.so.1");
  const std::string told = outcome.err.substr(outcome.err.find("error: "));
  EXPECT_EQ(told.find('\n'), told.size() - 1) << "one line";
}

/// Planned and free bytes of the fake GPU, which has too few.
TEST_F(Commands, APlanThatIsTooLargeForTheGpu) {
  const Outcome outcome = shell("export FAKE_GPU_BYTES=1000000 LD_LIBRARY_PATH=" + fake + " GOLDEN='" +
                                kGolden.string() + "'; " + binary() + " run $GOLDEN --target native");
  if (has(outcome.err, "NVRTC was not found")) GTEST_SKIP() << outcome.err;
  expect_error(outcome, "bytes of Fake GPU (");
  expect_error(outcome, "but 1000000 (0.00 GiB) are free");
}

TEST_F(Commands, BenchReportsAsJson) {
  const Outcome outcome = smelt(
      "bench --layers 1 --width 16 --heads 2 --vocabulary 50 --length 12 --batch 2 --steps 2 --json "
      "--profile -o report");
  expect_good(outcome);
  const Json json = Json::parse(outcome.out.substr(0, outcome.out.find('\n')), nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.out;
  EXPECT_GT(json["tokens_per_s"], 0);
  EXPECT_TRUE(has(outcome.out, "gemm")) << outcome.out;
  EXPECT_TRUE(has(slurp(path("report.md")), "tokens/s"));
}

TEST_F(Commands, BenchTimesInference) {
  const Outcome outcome =
      smelt("bench $GOLDEN --infer --length 12 --batch 2 --steps 2 --together 1 --json --profile -o report");
  expect_good(outcome);
  const Json json = Json::parse(outcome.out.substr(0, outcome.out.find('\n')), nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.out;
  EXPECT_GT(json["seconds"], 0);
  EXPECT_TRUE(has(outcome.out, "gemm")) << outcome.out;
  EXPECT_EQ(Json::parse(slurp(path("report.json"))), json);
  EXPECT_TRUE(has(slurp(path("report.md")), "GFLOP/s"));
  expect_error(smelt("bench $GOLDEN --infer --max B*T=16 --length 12 --batch 2"), "expected at most 16");
  for (const char* other : {"--infer", "--generate"})
    EXPECT_EQ(smelt(std::string("bench $GOLDEN --profile --trace t.json ") + other).status, 2);
}

/// Forward and backward of an operator, as lines and as files.
TEST_F(Commands, BenchTimesOperators) {
  const std::string graphs = std::string("'") + SMELT_SOURCE_DIR "/tests/bench/operators/";
  const Outcome outcome =
      smelt("bench " + graphs + "criterion.ir' " + graphs +
            "adamw.ir' --max N=4 --precision bf16 --steps 2 --together 1 --json -o report");
  expect_good(outcome);
  std::istringstream lines(outcome.out);
  for (const auto& [entry, bytes] : {std::pair<const char*, int64_t>{"forward", 4 * (2 * 32000 + 4 + 4)},
                                     {"backward", 4 * (2 * 2 * 32000 + 4 + 4)},
                                     {"update", 4 * 1024 * 28}}) {
    std::string line;
    std::getline(lines, line);
    const Json json = Json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out;
    EXPECT_EQ(json["entry"], entry);
    EXPECT_NEAR(json["bytes"].get<double>(), static_cast<double>(bytes), 64) << entry;
    EXPECT_GT(json["copy_bytes_per_s"], 0);
  }
  EXPECT_EQ(Json::parse(slurp(path("report.json"))).size(), 3u);
  EXPECT_TRUE(has(slurp(path("report.md")), "| criterion | backward |"));
}

TEST_F(Commands, BenchSaysWhatItDoesNotTakeWithOperators) {
  spill(path("g.ir"), "graph @g(%x: f32[3]) {\n  %y = exp %x : f32[3]\n  return y = %y\n}\n");
  expect_error(smelt("bench g.ir $GOLDEN"), "is not a graph in text form");
  expect_error(smelt("bench g.ir --profile"), "--profile");
  expect_error(smelt("bench g.ir --infer"), "--infer");
}

TEST(Npy, RoundTripsAndRefusesDamage) {
  const fs::path file = fs::temp_directory_path() / "smelt-npy-test.npy";
  HostTensor tensor{"x", DType::f32, {3, 1, 5}, std::vector<std::byte>(60)};
  for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i * 7);
  write_npy(file, tensor);
  const HostTensor back = read_npy(file);
  EXPECT_EQ(back.shape, tensor.shape);
  EXPECT_EQ(back.bytes, tensor.bytes);
  const std::string whole = slurp(file);
  EXPECT_EQ(whole.find('\n') % 64, 63u) << "data is aligned";
  for (size_t length = 0; length < whole.size(); length += 9) {
    spill(file, whole.substr(0, length));
    EXPECT_THROW(read_npy(file), Error) << length;
  }
  for (const auto& [from, to] : {std::pair{"False", "True "}, {"<f4", "<c4"}, {"(3, 1, 5)", "(3, 1, 6)"}}) {
    std::string changed = whole;
    changed.replace(changed.find(from), std::string(from).size(), to);
    spill(file, changed);
    EXPECT_THROW(read_npy(file), Error) << to;
  }
  fs::remove(file);
}

}  // namespace
}  // namespace smelt::test
