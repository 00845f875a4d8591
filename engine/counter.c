/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plugin for the tests of patches 12 and 15: at each instruction it compares
 * QEMU's count with its own, and the virtual clock with both. With charge=N it
 * charges N instructions at times. engine/test compiles it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What it needs of QEMU's plugin interface, version 4. */
typedef uint64_t PluginId;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*OnBlock)(PluginId, struct qemu_plugin_tb *);
typedef void (*OnExecution)(unsigned int, void *);
typedef void (*OnExit)(PluginId, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(PluginId, OnBlock);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, OnExecution, int, void *);
void qemu_plugin_register_atexit_cb(PluginId, OnExit, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_instructions(unsigned int);
int64_t qemu_plugin_virtual_ns(void);
void qemu_plugin_charge(uint64_t);

int qemu_plugin_version = 4;

enum { CPUS = 8, SHIFT = 3, DISTANCE = 7 };

static uint64_t counted[CPUS];
static uint64_t all;
static uint64_t charge, charged;
static int64_t last_idle_ns;
static uint64_t wrong_counts, wrong_times, idle_times;

static void on_instruction(unsigned int cpu, void *data)
{
    /* Of the block, those from this one on. */
    uint64_t left = (uintptr_t)data;
    int64_t idle_ns = qemu_plugin_virtual_ns() - (int64_t)((all + charged + left) << SHIFT);

    if (qemu_plugin_instructions(cpu) != counted[cpu] + left) {
        counted[cpu] = qemu_plugin_instructions(cpu) - left;
        wrong_counts++;
    }
    /* Only idle time lies between instructions and time, and it never decreases. */
    wrong_times += idle_ns < last_idle_ns;
    idle_times += idle_ns > last_idle_ns;
    last_idle_ns = idle_ns;
    counted[cpu]++;
    all++;
    if (charge && all % DISTANCE == 0) {
        qemu_plugin_charge(charge);
        charged += charge;
    }
}

static void on_block(PluginId id, struct qemu_plugin_tb *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);

    for (size_t i = 0; i < count; i++) {
        qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(block, i), on_instruction,
                                               0, (void *)(uintptr_t)(count - i));
    }
}

static void on_exit_of_qemu(PluginId id, void *output)
{
    FILE *file = fopen(output, "w");

    if (file) {
        fprintf(file, "%" PRIu64 " counts and %" PRIu64 " times wrong, idle %s\n", wrong_counts,
                wrong_times, idle_times ? "at times" : "never");
        fclose(file);
    }
}

int qemu_plugin_install(PluginId id, const void *info, int count, char **arguments)
{
    static char output[4096];
    const char *name = "output=";

    if (count < 1 || strncmp(arguments[0], name, strlen(name)) != 0) {
        return 1;
    }
    if (count > 1 && sscanf(arguments[1], "charge=%" SCNu64, &charge) != 1) {
        return 1;
    }
    snprintf(output, sizeof(output), "%s", arguments[0] + strlen(name));
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, output);
    return 0;
}
