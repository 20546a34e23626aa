# ring_demo - `make` needs a C compiler and GNU make, nothing else. `make help` lists the rest.
#
# Settings, on the command line or from the environment:
#   CUDA=auto|0|1     use nvcc where it is found (the default), never, or fail without it
#   NVCC=, CUDA_HOME= where nvcc is; otherwise the PATH and /usr/local/cuda are searched
#   CUDA_ARCHS="90"   GPU architectures; otherwise all that nvcc knows, one per family
#   CUDAHOSTCXX=g++-12  the C++ compiler behind nvcc, where the usual one is too new for it
#   NCCL=0, NCCL_HOME=  do not look for NCCL's header, or look there
#   NVTX=0            do not look for the header nvtx3, with which a profiler shows steps and ops
#   CC= CPPFLAGS= CFLAGS= LDFLAGS= NVCCFLAGS=   yours, after ours
#   WERROR=1          warnings are errors       V=1   show whole commands
#   BUILD=build       folder of all that is made; another one holds its own ring_demo
#   PREFIX=/usr/local, DESTDIR=    for install and uninstall

BUILD  ?= build
CUDA   ?= auto
PREFIX ?= /usr/local

ifneq ($(words $(BUILD)),1)
  $(error BUILD=$(BUILD): one folder is wanted, with no blank in its name)
endif

# CC has a built-in value in make; only somebody's own choice counts.
ifeq ($(origin CC),default)
  CC :=
endif

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all help demo compile test test-page sanitize fuzz samples measure verify-gpus \
        install uninstall clean
MAKEFLAGS += --no-builtin-rules
ifneq ($(V),1)
.SILENT:
endif

# ---- what this machine has --------------------------------------------------------------------
# .configure answers in config.mk: CC, NVCC, CUDA_*, NCCL_*, NVTX_*, CHECK_*. It asks again when a setting
# changed; what it prints is what must stop the build. KEEP: a plain `make install`, perhaps by
# another user with another PATH, installs what was built.

quote = '$(subst ','\'',$(1))'
comma := ,
settings := CC CPPFLAGS CFLAGS LDFLAGS WERROR \
            CUDA NVCC CUDA_HOME CUDA_ARCHS CUDAHOSTCXX NVCCFLAGS NCCL NCCL_HOME NVTX

ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),all)),)
  asked := $(strip $(foreach name,$(settings),$(filter command,$(origin $(name)))))
  KEEP := $(if $(asked)$(filter-out install,$(MAKECMDGOALS)),,$(MAKECMDGOALS))
  problem := $(shell mkdir -p $(BUILD) && \
      $(foreach name,$(settings) BUILD KEEP,$(name)=$(call quote,$($(name)))) sh .configure)
  ifneq ($(problem),)
    $(error $(problem))
  endif
  include $(BUILD)/config.mk
  -include $(BUILD)/config.check.mk
endif

# ---- what there is to build -------------------------------------------------------------------

ifeq ($(BUILD),build)
  PROGRAM := ./ring_demo
else
  PROGRAM := $(BUILD)/ring_demo
endif
CHECK_STATE := $(if $(CHECK_VERSION),found $(CHECK_VERSION),not found (`make test` installs it))
TEST_ALL  := $(BUILD)/test_all
TEST_NVTX := $(if $(NVTX_VERSION),$(BUILD)/nvtx_inject.so)
TEST_CUDA := $(if $(CUDA_VERSION),$(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/test_cuda.c)))

objects = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))

cuda_c  := $(wildcard common/device_cuda*.c ring/kernel_cuda*.c)
nccl_c  := $(wildcard common/nccl_cuda.c)
no_cuda_c := $(wildcard ring/kernel_none.c)
modules := $(filter-out $(cuda_c) $(no_cuda_c) $(nccl_c) ring/ring_demo.c, \
                        $(wildcard common/*.c ring/*.c overlap/*.c))
ifneq ($(CUDA_VERSION),)
  modules += $(cuda_c) $(wildcard common/*.cu ring/*.cu)
else
  modules += $(no_cuda_c)
endif
ifneq ($(NCCL_VERSION),)
  modules += $(nccl_c)
endif
modules := $(call objects,$(modules)) $(BUILD)/ring/page.o
main    := $(call objects,ring/ring_demo.c)

cuda_tests := $(call objects,$(wildcard tests/test_cuda.c tests/*_contract.c))
measuring  := $(call objects,tests/measure_host.c)
apart      := tests/test_cuda.c tests/measure_host.c tests/nvtx_inject.c
tests      := $(call objects,$(filter-out $(apart),$(wildcard tests/*.c)))

# Loops over every element, and the proofs: worth more of the compiler's time.
hot := $(call objects,$(wildcard common/loops*.c common/device_host*.c ring/check*.c ring/order*.c \
                                 ring/contents*.c ring/verify*.c)) $(measuring)

# ---- how --------------------------------------------------------------------------------------
# -ffp-contract=off and its sisters for nvcc: the same bits from every compiler (common/arith.h).

OPTIMIZE := -O2
$(hot): OPTIMIZE := -O3
extra :=

our_cppflags = -I. -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 $(extra) -MMD -MP
our_cflags   = -std=c11 $(OPTIMIZE) -g -ffp-contract=off -Wall -Wextra -Wpedantic \
               $(if $(filter 1,$(WERROR)),-Werror)

# nvcc's objects are linked by the C compiler, without the C++ library: no guarded statics.
our_nvccflags = -I. -std=c++17 -O3 -fmad=false -ftz=false -Wno-deprecated-gpu-targets \
                -Xcompiler -fno-threadsafe-statics,-ffp-contract=off \
                -Xcompiler -Wall,-Wextra,-Wno-unused-function \
                $(if $(filter 1,$(WERROR)),-Werror all-warnings) \
                $(if $(CUDAHOSTCXX),-ccbin $(CUDAHOSTCXX)) $(CUDA_GENCODE) --threads 0 -MMD -MP

# Who may know what was found: device.c and nccl.c have the tables of what can be opened, nvtx.c
# calls what is there or nothing, built.c tells about it.
ifneq ($(CUDA_VERSION),)
  $(BUILD)/common/device.o: extra := -DHAVE_CUDA
  $(call objects,$(cuda_c)) $(cuda_tests): extra := $(CUDA_INCLUDE)
endif
ifneq ($(NCCL_VERSION),)
  $(BUILD)/common/nccl.o: extra := -DHAVE_NCCL
  $(call objects,$(nccl_c)): extra := $(CUDA_INCLUDE) $(NCCL_INCLUDE)
endif
ifneq ($(NVTX_VERSION),)
  $(BUILD)/common/nvtx.o: extra := -DHAVE_NVTX $(NVTX_INCLUDE)
endif
$(BUILD)/common/built.o: extra := $(if $(CUDA_VERSION),-DHAVE_NVCC) \
    $(if $(NCCL_VERSION),-DHAVE_NCCL) $(if $(NVTX_VERSION),-DHAVE_NVTX) \
    -DCUDA_DETAIL=$(call quote,"$(CUDA_DETAIL)") -DNCCL_DETAIL=$(call quote,"$(NCCL_DETAIL)") \
    -DNVTX_DETAIL=$(call quote,"$(NVTX_DETAIL)")

$(tests) $(cuda_tests): extra += $(CHECK_CFLAGS)

# ---- the binaries -----------------------------------------------------------------------------

all: $(PROGRAM)
	$(info $(CUDA_LINE))$(info $(NCCL_LINE))$(info $(NVTX_LINE))$(info Check: $(CHECK_STATE)):

$(PROGRAM): $(main) $(modules)
	@echo "  link  $@"
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(CUDA_LIBS) -lm

$(TEST_ALL): $(tests) $(modules)
	@echo "  link  $@"
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(CHECK_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/test_cuda: $(cuda_tests) $(modules)
	@echo "  link  $@"
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(CHECK_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/measure_host: $(measuring) $(modules)
	@echo "  link  $@"
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(CUDA_LIBS) -lm

# A library of its own: the profiler that tests/test_nvtx.sh attaches.
$(BUILD)/nvtx_inject.so: tests/nvtx_inject.c Makefile $(BUILD)/config.mk
	@echo "  cc    $<"
	mkdir -p $(@D)
	$(CC) $(our_cppflags) $(CPPFLAGS) $(our_cflags) $(CFLAGS) $(NVTX_INCLUDE) -shared -fPIC $< -o $@ -ldl

define compile_c
	@echo "  cc    $<"
	mkdir -p $(@D)
	$(CC) $(our_cppflags) $(CPPFLAGS) $(our_cflags) $(CFLAGS) -c $< -o $@
endef

# config.mk is new when a setting or a compiler is: then everything is.
$(BUILD)/%.o: %.c Makefile $(BUILD)/config.mk
	$(compile_c)

# The page of --trace=html goes into the program as an array of its bytes: a compiler need not
# accept so long a string.
$(BUILD)/ring/page.o: $(BUILD)/ring/page.c Makefile $(BUILD)/config.mk
	$(compile_c)

$(BUILD)/ring/page.c: ring/page.html Makefile
	mkdir -p $(@D)
	{ echo '#include "ring/page.h"'; echo 'const unsigned char page_html[] = {'; \
	  od -An -v -tu1 ring/page.html | sed 's/[0-9][0-9]*/&,/g'; \
	  echo '};'; echo 'const size_t page_html_size = sizeof page_html;'; } >$@

$(BUILD)/%.o: %.cu Makefile $(BUILD)/config.mk
	@echo "  nvcc  $<"
	mkdir -p $(@D)
	$(NVCC) $(our_nvccflags) $(NVCCFLAGS) -c $< -o $@

-include $(patsubst %.o,%.d,$(sort $(main) $(modules) $(tests) $(cuda_tests) $(measuring)))

# The fuzzer brings its own main.
$(BUILD)/fuzz_plan: $(BUILD)/tests/fuzz_plan.o $(modules)
	@echo "  link  $@"
	$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer $^ -o $@ $(CUDA_LIBS) -lm

# ---- to use it --------------------------------------------------------------------------------

help:
	sed -n '/^# ring_demo/,/^$$/s/^# \{0,1\}//p' Makefile
	echo 'make            ./ring_demo, for the GPUs of this machine where nvcc is found'
	echo 'make demo       one all-reduce on four ranks, explained'
	echo 'make test       every test; installs the library Check where it is missing'
	echo 'make test-page  the page of --trace=html in a browser; installs Chromium where it is missing'
	echo 'make sanitize   the tests under the address and undefined-behaviour sanitizers and valgrind'
	echo 'make compile    the test programs too, but run nothing'
	echo 'make fuzz       any bytes taken for a plan, for FUZZ_SECONDS (600); needs clang and libFuzzer'
	echo 'make samples    docs/samples/ and the man page anew: what the program prints, as the tests want it'
	echo 'make verify-gpus   all that there is, on this machine, GPUs and NCCL, and a report of it; settings:'
	echo '                GPUS="0 1" RANKS="4 8" SIZES="-b 1K -e 1G" REPORT=FILE BACKEND=host PART_SECONDS=900'
	echo 'make measure    how fast the plan, its proof and a simulated run are on this machine'
	echo 'make install    to PREFIX (/usr/local); make uninstall, make clean'

demo: all
	$(PROGRAM) --gpus 4 --trace

samples: $(PROGRAM)
	RING_DEMO=$(PROGRAM) tests/test_docs.sh update

measure: $(PROGRAM) $(BUILD)/measure_host
	RING_DEMO=$(PROGRAM) tests/measure.sh
	$(BUILD)/measure_host

# The script makes what it needs; settings given here are in its environment, too.
verify-gpus: all
	MAKEFLAGS= RING_DEMO=$(PROGRAM) BUILD='$(BUILD)' MAKE='$(MAKE_COMMAND)' tests/verify_gpus.sh

root   := $(DESTDIR)$(PREFIX)
docdir := $(root)/share/doc/ring_demo
mandir := $(root)/share/man/man1

# The documents lead to each other and to files of the source; those are installed beside them.
linked := $(wildcard ring/plan.h ring/ring.h ring/ring.c common/span.h tests/verify_gpus.sh)

install: all
	install -d $(call quote,$(root)/bin) $(call quote,$(docdir)) $(call quote,$(mandir))
	install -m 755 $(PROGRAM) $(call quote,$(root)/bin/ring_demo)
	install -m 644 $(wildcard README.md LICENSE) $(call quote,$(docdir))
	install -m 644 $(wildcard docs/ring_demo.1) $(call quote,$(mandir))
	cp -R $(wildcard docs) $(call quote,$(docdir))
	for file in $(linked); do \
	    install -d $(call quote,$(docdir))/"$${file%/*}" && \
	    install -m 644 "$$file" $(call quote,$(docdir))/"$$file" || exit 1; \
	done
	echo $(call quote,installed $(root)/bin/ring_demo$(comma) its man page and $(docdir))

uninstall:
	rm -f $(call quote,$(root)/bin/ring_demo) $(call quote,$(mandir)/ring_demo.1)
	rm -rf $(call quote,$(docdir))

clean:
	rm -rf $(BUILD) $(PROGRAM)

# ---- to test it -------------------------------------------------------------------------------
# Check gives a test 4 seconds, too few for a slow machine. test_all never touches CUDA, because
# its tests run in forked children; test_cuda is the one that does. The scripts find the binary as
# RING_DEMO.

test-page: $(PROGRAM)
	RING_DEMO=$(PROGRAM) sh tests/page/run.sh

ifeq ($(CHECK_VERSION),)

.NOTPARALLEL:
compile test sanitize:
	CC='$(CC)' sh tests/check_library.sh install
	$(MAKE) $@

else

compile: $(PROGRAM) $(TEST_ALL) $(TEST_CUDA) $(TEST_NVTX) $(BUILD)/measure_host

test: compile
	CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-120} $(TEST_ALL)
	$(if $(TEST_CUDA),timeout 600 $(TEST_CUDA))
	for script in tests/test_*.sh; do \
	    echo "$$script"; \
	    RING_DEMO=$(PROGRAM) BUILD='$(BUILD)' CC='$(CC)' MAKE='$(MAKE_COMMAND)' $$script || exit 1; \
	done
	echo 'all tests passed'

sanitizers := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

sanitize: $(TEST_ALL)
	$(MAKE) BUILD=$(BUILD)/asan CUDA=0 CFLAGS='$(CFLAGS) $(sanitizers)' $(BUILD)/asan/test_all
	RING_DEMO_QUICK=1 CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-600} $(BUILD)/asan/test_all
	if command -v valgrind >/dev/null; then \
	    RING_DEMO_QUICK=1 CK_FORK=no CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-1200} \
	        valgrind -q --leak-check=full --error-exitcode=9 $(TEST_ALL); \
	else \
	    echo 'valgrind is not installed: that half of make sanitize was left out'; \
	fi

FUZZ_SECONDS ?= 600
fuzzing := -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

fuzz:
	$(MAKE) BUILD=$(BUILD)/fuzz CUDA=0 CC=clang CFLAGS='$(fuzzing)' $(BUILD)/fuzz/fuzz_plan
	mkdir -p $(BUILD)/fuzz/found
	$(BUILD)/fuzz/fuzz_plan -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 \
	    -dict=tests/fuzz_plan.dict $(BUILD)/fuzz/found tests/corpus docs/plans

endif
