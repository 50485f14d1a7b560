# SPDX-License-Identifier: Apache-2.0
# The only build system. `make help` lists the targets.
#
#   make                                release build of gust and gust-worker
#   make CC=clang                       the same with clang
#   make SANITIZE=address,undefined     everything under the sanitizers, in a folder of its own
#   make test                           installs what is missing, builds, runs every test

CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
SANITIZE ?=
PREFIX   ?= /usr/local
DESTDIR  ?=
V        ?= 0

empty   :=
comma   := ,
space   := $(empty) $(empty)
VARIANT := $(notdir $(CC))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
B       := build/$(VARIANT)
Q       := $(if $(filter 0,$(V)),@)

WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wdeclaration-after-statement -Wformat=2 \
            -Wno-format-nonliteral -Wold-style-definition -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wvla -Wwrite-strings -Wundef -Wshadow -Wno-missing-field-initializers -Wno-psabi
# No contraction and no reassociation: the same bits on every CPU and with both compilers.
NUMERIC  := -fno-math-errno -ffp-contract=off
CFLAGS   ?= -O3 -g
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE $(CFLAGS) $(NUMERIC) $(WARNINGS) -Isrc -Iinclude -pthread \
              -fno-omit-frame-pointer -MMD -MP
LDLIBS   := -lm -pthread
# Of `gust` alone: what runs in a function is static, with libc and libm.
GUST_LIBS := -lyaml -lz -lzstd
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
LDFLAGS    += -fsanitize=$(SANITIZE)
STATIC     :=
else
STATIC     := -static
endif
ifneq ($(findstring clang,$(CC)),)
ALL_CFLAGS += -Wno-gnu
endif

# ---- what there is --------------------------------------------------------------------------

# math/kernels.c is built once for every instruction level; all levels give the same bits.
LEVELS_x86_64 := sse2 avx2 avx512
LEVELS        := $(or $(LEVELS_$(shell uname -m)),plain)
FLAGS_sse2    :=
FLAGS_avx2    := -mavx2 -mbmi2
FLAGS_avx512  := -mavx2 -mbmi2 -mavx512f -mavx512vl -mavx512bw -mavx512dq
FLAGS_plain   :=

MAINS    := src/cli/main.c src/cli/worker_main.c
SOURCES  := $(sort $(wildcard src/*/*.c))
LIB_SRC  := $(filter-out src/cli/% src/math/kernels.c,$(SOURCES))
CLI_SRC  := $(filter-out src/cli/worker_main.c,$(filter src/cli/%.c,$(SOURCES)))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o) \
            $(if $(wildcard src/math/kernels.c),$(LEVELS:%=$(B)/src/math/kernels-%.o))
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/%.o)
TEST_SRC := $(sort $(wildcard tests/*/test_*.c))
TESTS    := $(TEST_SRC:%.c=$(B)/%)
TEST_LIB := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))
FUZZ_SRC := $(sort $(wildcard fuzz/fuzz_*.c))

PROGRAMS := $(if $(wildcard src/cli/main.c),$(B)/gust) \
            $(if $(wildcard src/cli/worker_main.c),$(B)/gust-worker)

.PHONY: all help programs tests test demo install clean fuzz setup chaos bench bench-setup format
.DELETE_ON_ERROR:
.SECONDARY:

all: setup-build programs

help:
	@sed -n 's/^# *\(make .*\)/\1/p' Makefile

programs: $(PROGRAMS)

tests: $(TESTS)

$(B)/libgust.a: $(LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/gust: $(CLI_OBJ) $(B)/libgust.a
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(GUST_LIBS) $(LDLIBS)

# Static: a function starts in under a millisecond and maps nothing that it does not use.
$(B)/gust-worker: $(B)/src/cli/worker_main.o $(B)/libgust.a
	$(Q)$(CC) $(LDFLAGS) $(STATIC) -o $@ $^ $(LDLIBS)

$(B)/src/math/kernels-%.o: src/math/kernels.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(FLAGS_$*) -DKERNEL_LEVEL=$* -c -o $@ $<

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_$(subst /,_,$*)) -c -o $@ $<

$(B)/tests/%.o: ALL_CFLAGS += -Itests

$(B)/tests/%: $(B)/tests/%.o $(TEST_LIB) $(B)/libgust.a
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(GUST_LIBS) $(LDLIBS)

# The lists of headers are made with the objects; make must not try to make them itself.
%.d: ;
-include $(shell find $(B) -name '*.d' 2>/dev/null)

# These are read in by the assembler, which the lists of headers do not see.
$(B)/src/client/prices.o: $(wildcard prices/*.yaml)
$(B)/src/client/report_html.o: web/report.css

# ---- set-up ---------------------------------------------------------------------------------

.PHONY: setup-build setup-test
setup-build:
	@tools/setup build

setup-test:
	@tools/setup build test

setup: setup-test

# ---- things to run --------------------------------------------------------------------------

# make test                  every test, under the variant's compiler and sanitizers
test: setup-test
	@$(MAKE) --no-print-directory programs tests
	@CC="$(CC)" VARIANT="$(VARIANT)" tools/run-tests $(B)

# make chaos                 kills processes that use the shared-memory store for a minute
chaos: setup-test
	@$(MAKE) --no-print-directory $(B)/tests/params/test_shm_chaos
	@GUST_CHAOS_SECONDS=60 $(B)/tests/params/test_shm_chaos

# make fuzz                  every reader under libFuzzer, FUZZ_SECONDS each (30)
fuzz:
	@tools/setup build fuzz
	@tools/fuzz

# make bench                 the figures of the README, beside the peers that are installed
bench: all
	@tools/bench $(B)

# make bench-setup           installs the peers: MPI, PyTorch, scikit-learn, liblinear
bench-setup:
	@tools/setup build bench

# make demo                  trains on local functions and prints quality, time and bill
demo: all
	@tools/demo $(B)

# make install               into PREFIX (default /usr/local), respecting DESTDIR
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(B)/gust $(B)/gust-worker $(DESTDIR)$(PREFIX)/bin
	install -m 644 include/gust.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(B)/libgust.a $(DESTDIR)$(PREFIX)/lib
	tools/man-pages $(B)/gust $(DESTDIR)$(PREFIX)/share/man

format:
	clang-format -i $(shell git ls-files '*.c' '*.h')

clean:
	rm -rf build
