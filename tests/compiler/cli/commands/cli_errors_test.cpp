// What the command line says about bad input: what, where, what was expected; never a crash.
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Errors = CommandLine;

TEST_F(Errors, MissingFiles) {
  for (const char* arguments : {"compile nowhere", "train nowhere --data x", "generate nowhere.plan --ids 1",
                                "evaluate $GOLDEN --data nowhere.txt", "run nowhere.json", "dump nowhere.ir"})
    expect_error(smelt(arguments), "nowhere");
}

TEST_F(Errors, AllProblemsOfAConfigAtOnce) {
  fs::create_directory(path("model"));
  spill(path("model/config.json"), R"({"model_type": "gpt2", "vocab_size": "many", "n_embd": 50, "n_head": 7,
    "n_layer": 2, "n_positions": 16, "activation_function": "wavy", "add_cross_attention": true})");
  const Outcome outcome = smelt("compile model");
  for (const char* part : {"vocab_size", "activation_function", "add_cross_attention", "wavy"})
    expect_error(outcome, part);
}

TEST_F(Errors, HeadsThatDoNotDivide) {
  spill(
      path("spec.json"),
      R"({"family": "gpt2", "vocab_size": 40, "hidden": 50, "max_positions": 16, "decoder": {"layers": 1, "heads": 7}})");
  expect_error(smelt("compile spec.json"), "heads");
}

TEST_F(Errors, UnknownModelType) {
  fs::create_directory(path("model"));
  spill(path("model/config.json"), R"({"model_type": "perceptron"})");
  expect_error(smelt("compile model"), "perceptron");
  spill(path("model/config.json"), "{\"model_type\": ");
  expect_error(smelt("compile model"), "config.json");
}

TEST_F(Errors, SizesThatNoMachineHolds) {
  spill(path("spec.json"), R"({"family": "gpt2", "vocab_size": 50000, "hidden": 65536, "max_positions": 1024,
    "decoder": {"layers": 4, "heads": 16}})");
  write_text("text.txt", 100);
  const Outcome outcome =
      smelt("train spec.json --data text.txt --data-format bytes --steps 1 --batch 1 --length 8");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "planned memory")) << "before anything is allocated: " << outcome.err;
  expect_error(outcome, "are free: compile it with lower bounds (B is set by --batch, T by --length)");
  spill(path("spec.json"),
        R"({"family": "gpt2", "vocab_size": 50000, "hidden": 1048576, "max_positions": 1024,
    "decoder": {"layers": 96, "heads": 16}})");
  expect_error(smelt("compile spec.json"), "parameters");
}

TEST_F(Errors, PlansThatAreDamaged) {
  expect_good(smelt("compile $GOLDEN --mode=infer --max B=1,T=8 -o good.plan"));
  const std::string good = slurp(path("good.plan"));
  const std::string run = "generate bad.plan --weights $GOLDEN --ids '1 2' --max-new-tokens 2";
  for (const size_t length : {size_t{0}, size_t{3}, size_t{60}, good.size() / 2, good.size() - 1}) {
    spill(path("bad.plan"), good.substr(0, length));
    expect_error(smelt(run), "bad.plan");
  }
  for (size_t i = 0; i < 12; ++i) {
    std::string bad = good;
    bad[good.size() * i / 12 + 8] ^= 0x11;
    spill(path("bad.plan"), bad);
    expect_error(smelt(run), "bad.plan");
  }
  std::string other_version = good;
  other_version[8] = 99;
  spill(path("bad.plan"), other_version);
  expect_error(smelt(run), "99");
}

TEST_F(Errors, IdsOutsideTheVocabulary) {
  expect_error(smelt("generate $GOLDEN --ids '1 2 131'"), "131");
  expect_error(smelt("generate $GOLDEN --ids '1 -2'"), "-2");
  expect_error(smelt("generate $GOLDEN --ids '1 two'"), "two");
  spill(path("high.txt"), std::string(5000, '\xC3'));
  expect_error(smelt("train $GOLDEN --data high.txt --data-format bytes --length 16 --batch 2"), "195");
}

TEST_F(Errors, TextForAModelWithItsOwnTokenizer) {
  expect_error(smelt("generate $GOLDEN --prompt hello"), "token ids");
  for (const char* golden :
       {"bert-tokens", "bert-spans", "bert-choices", "electra-classes", "bert-pretraining"})
    expect_error(smelt(fmt::format("generate '" SMELT_SOURCE_DIR "/tests/goldens/{}' --ids '3 1 4'", golden)),
                 "writes no text: it ");
  write_text("text.txt", 20);
  expect_error(smelt("train $GOLDEN --data text.txt --batch 1 --length 8 --steps 1"),
               "'text.txt' is text, which is read as bytes, but the model's 131 tokens are not bytes");
  expect_error(smelt("generate $GOLDEN"), "--prompt");
}

TEST_F(Errors, PromptsLongerThanThePlan) {
  expect_error(smelt("generate $GOLDEN --max T=4 --ids '1 2 3' --max-new-tokens 9"), "length of 4");
  expect_error(smelt("compile $GOLDEN --max T=65"), "64");
  expect_error(smelt("compile $GOLDEN --max Q=65"), "Q");
  const Outcome bound = smelt("compile $GOLDEN --max B:65");
  EXPECT_EQ(bound.status, 2);
  EXPECT_TRUE(has(bound.err, "--max=B:65: expected bounds such as B=32")) << bound.err;
}

TEST_F(Errors, DataShorterThanABatch) {
  spill(path("short.txt"), "only a few words");
  expect_error(smelt("train $GOLDEN --data short.txt --data-format bytes --batch 4 --length 16"),
               "less than one batch");
  spill(path("empty.txt"), "");
  expect_error(smelt("evaluate $GOLDEN --data empty.txt --data-format bytes"), "empty.txt");
  expect_error(smelt("train $GOLDEN"), "--data");
}

TEST_F(Errors, WeightsThatDoNotFit) {
  fs::copy(kGolden, path("model"));
  std::string config = slurp(path("model/config.json"));
  config.replace(config.find("\"n_embd\": 48"), 12, "\"n_embd\": 44");
  config.replace(config.find("\"n_layer\": 3"), 12, "\"n_layer\": 4");
  spill(path("model/config.json"), config);
  const Outcome outcome = smelt("generate model --ids 1");
  expect_error(outcome, "transformer.h.3.ln_1.weight");
  expect_error(outcome, "transformer.wte.weight");
  const std::string weights = slurp(kGolden / "model.safetensors");
  spill(path("cut.safetensors"), weights.substr(0, weights.size() - 5));
  expect_error(smelt("generate $GOLDEN --weights cut.safetensors --ids 1"), "cut.safetensors");
  fs::remove(path("model/model.safetensors"));
  expect_error(smelt("generate model --ids 1"), "no weights");
}

TEST_F(Errors, ConfigFilesNameAllMistakes) {
  write_text("text.txt", 100);
  spill(path("bad.json"), R"({"steps": 3, "stepz": 4, "batch": "two", "resume": "yes"})");
  const Outcome outcome = smelt("train $GOLDEN --data text.txt --config bad.json");
  for (const char* part : {"stepz: is no option of this command; did you mean steps?", "batch", "resume"})
    expect_error(outcome, part);
}

TEST_F(Errors, Tf32IsForGpus) {
  const Outcome outcome = smelt("compile $GOLDEN --precision=tf32 -o x.plan");
  expect_error(outcome, "tf32 is a precision of GPUs, and the target is cpu");
}

TEST_F(Errors, SameBitsOfOtherTargetsAndTypes) {
  expect_error(smelt("compile $GOLDEN --same-bits --precision=bf16 -o x.plan"),
               "--same-bits is for GPUs from sm_80 on, and the target is cpu");
  const std::string gpu = "compile $GOLDEN --same-bits --target=sm_90 -o x.plan ";
  expect_error(smelt(gpu), "--same-bits needs --precision=bf16 or fp16");
  expect_error(smelt(gpu + "--precision=bf16 --attention=unfused"), "leave it or --same-bits out");
  expect_error(smelt(gpu + "--precision=bf16 --tune"), "--tune chooses the order of sums");
  expect_error(smelt(gpu + "--precision=bf16 --mesh data=2"), "--same-bits is for one rank");
  expect_error(smelt("verify $GOLDEN --same-bits --precision=bf16"), "the target is cpu");
}

TEST_F(Errors, TraceWithoutProfile) {
  const Outcome outcome = smelt("bench $GOLDEN --trace trace.json");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--trace requires --profile"), std::string::npos) << outcome.err;
}

TEST_F(Errors, FullDisk) {
  const Outcome outcome = smelt("compile $GOLDEN --mode=infer --max T=8 -o /dev/full/x.plan");
  expect_error(outcome, "/dev/full");
}

/// What was printed is not there: a status of 0 would say that it is.
TEST_F(Errors, AFullDiskBehindStandardOutput) {
  for (const char* command : {"generate $GOLDEN --ids '5 6'", "--help", "dump $GOLDEN --summary",
                              "generate $GOLDEN --ids '5 6' -o /dev/full"}) {
    const Outcome outcome = smelt(std::string(command) + " > /dev/full");
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_TRUE(has(outcome.err, "error: ")) << outcome.err;
  }
}

TEST_F(Errors, NothingIsPrintedBeforeAnError) {
  for (const char* ids : {"5 99999", "5 -1"})
    EXPECT_EQ(smelt("generate $GOLDEN --ids '" + std::string(ids) + "'").out, "");
  EXPECT_EQ(smelt("generate $GOLDEN --ids '5' --max T=4 --max-new-tokens 9").out, "");
  EXPECT_EQ(smelt("generate $GOLDEN --ids '5' --eos-token-id 999").out, "");
}

TEST_F(Errors, DataThatAreNoText) {
  const std::string model =
      R"({"family":"gpt2","vocab_size":256,"hidden":16,"max_positions":16,"decoder":{"layers":1,"heads":2}})";
  spill(path("bytes.json"), model);
  write_text("t.txt", 300);
  expect_good(
      shell("gzip -k t.txt; xz -k t.txt; bzip2 -k t.txt; iconv -f utf-8 -t utf-16 t.txt > u.txt; true"));
  spill(path("t.parquet"), "PAR1" + std::string(500, 'x'));
  spill(path("t.npy"), "\x93NUMPY" + std::string(500, 'x'));
  const std::string train = "train bytes.json --steps 1 --batch 2 --length 16 --data ";
  for (const auto& [file, name] : {std::pair{"t.txt.xz", "an xz archive"},
                                   {"t.txt.bz2", "a bzip2 archive"},
                                   {"u.txt", "a text in UTF-16"},
                                   {"t.parquet", "is no whole Parquet file"},
                                   {"t.npy", "a NumPy array"}}) {
    if (!fs::exists(path(file))) continue;
    expect_error(smelt(train + file), name);
    expect_error(smelt(train + "t.txt --validation " + file), name);
    expect_error(smelt("evaluate bytes.json --from-scratch --length 16 --data " + std::string(file)), name);
  }
  expect_good(smelt(train + "t.txt.gz"));
  expect_good(smelt(train + "t.txt.gz --data-format bytes"));
  expect_good(smelt(train + "t.txt"));
}

TEST_F(Errors, WeightsThatAreNotThereYet) {
  fs::copy(kGolden, path("model"));
  spill(path("model/model.safetensors"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n");
  expect_error(smelt("generate model --ids 5"), "a pointer of Git LFS to a file that is not here");
}

TEST_F(Errors, LimitsThatAreTooSmall) {
  expect_error(shell("ulimit -s 64; " + binary() + " --version"), "the stack is limited");
  if (kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer reserves more address space than that";
  expect_error(shell("ulimit -v 400000; " + binary() + " --version"), "the address space is limited");
}

TEST_F(Errors, PassesThatAreNotThere) {
  expect_error(smelt("compile $GOLDEN --disable-pass=juggle"), "juggle");
  expect_error(smelt("compile $GOLDEN --disable-pass=fuse"), "fuse");
  expect_error(smelt("dump $GOLDEN --pipeline='simplify,,'"), "pipeline");
}

TEST_F(Errors, TextsInBracketsAreWhole) {
  spill(path("prompt.json"),
        R"({"family":"gpt2","tokenizer":"bytes","vocab_size":256,"hidden":16,"max_positions":32,
            "decoder":{"layers":1,"heads":2}})");
  const Outcome outcome =
      smelt("generate prompt.json --from-scratch --max-new-tokens 1 --json --prompt '[a, b]'");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, R"("prompt_ids":[91,97,44,32,98,93])")) << outcome.out;
}

TEST_F(Errors, AFlagIsTrueOrFalse) {
  const Outcome outcome = smelt("generate $GOLDEN --ids 5 --do-sample=maybe");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome.err, "--do-sample=maybe: expected true or false")) << outcome.err;
}

TEST_F(Errors, StreamsThatAreClosedOrFull) {
  const std::string run = binary() + " generate '" + kGolden.string() + "' --ids 5 --max-new-tokens 2 ";
  EXPECT_EQ(shell(run + "2>&-").out, shell(run).out) << "messages are lost, and the work goes on";
  EXPECT_EQ(shell(run + "2>/dev/full").out, shell(run).out);
  EXPECT_EQ(shell(run + "2>&- <&-").status, 0);
  EXPECT_EQ(shell(run + ">&-").status, 1);
  EXPECT_EQ(shell(run + ">&- 2>&- <&-").status, 1);
}

TEST_F(Errors, FilesBeyondTheLimitOfTheirSize) {
  const Outcome outcome = shell("ulimit -f 4; " + binary() + " compile '" + kGolden.string() + "' -o x.plan");
  expect_error(outcome, "cannot write ");
  EXPECT_EQ(shell("ls -A | grep -c plan").out, "0\n") << "nothing is left";
}

TEST_F(Errors, ValuesOfAConfigInPlainWords) {
  spill(path("c.json"), R"({"steps": -3})");
  expect_error(smelt("train $GOLDEN --config c.json --data t.txt"),
               "--steps: -3, expected a number from 0 on\n");
}

TEST_F(Errors, WhatIsReadIsNotWrittenOver) {
  expect_good(shell("cp -r '" + kGolden.string() + "' model"));
  expect_error(smelt("compile model --mode=infer -o model/config.json"), "there is a file that is no plan");
  expect_error(smelt("export model -o model"), "this is what is read");
  expect_good(smelt("compile model --mode=infer --entry logits -o x.plan"));
  expect_good(smelt("compile model --mode=infer --entry logits -o x.plan"));
  expect_error(smelt("report x.plan -o x.plan"), "this is what is read");
}

/// Such as of a variable that the shell does not know.
TEST_F(Errors, AnEmptyTextIsNoValue) {
  const Outcome outcome = smelt("train $GOLDEN --data t.txt --run-dir ''");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome.err, "--run-dir: expected a value, found an empty text")) << outcome.err;
}

TEST_F(Errors, ThreadsBeyondWhatOpenBlasTakes) {
  expect_error(smelt("generate $GOLDEN --ids 5 --threads 100000"), "threads is 100000: expected 0 to 512");
}

TEST_F(Errors, WhatIsContradictory) {
  expect_error(smelt("generate $GOLDEN --ids 5 --weights $GOLDEN --from-scratch"), "give one of them");
  expect_error(smelt("train $GOLDEN --data t.txt --lora r=4,r=5"), "--lora: r is given twice");
}

TEST_F(Errors, APlanKeepsWhatItWasCompiledWith) {
  expect_good(smelt("compile $GOLDEN --mode=infer --entry logits -o x.plan"));
  const std::string run = "generate x.plan --weights $GOLDEN --ids 5 --max-new-tokens 1 ";
  expect_error(smelt(run + "--precision bf16 --max T=9"), "which --precision, --max cannot change");
  expect_good(smelt(run + "--target cpu --precision fp32"));
}

TEST_F(Errors, APlanIsNoDescription) {
  expect_good(smelt("compile $GOLDEN --mode=infer --entry logits -o x.plan"));
  expect_error(smelt("dump x.plan"), "x.plan: a compiled plan; expected what it was compiled from");
}

}  // namespace
}  // namespace smelt::test
