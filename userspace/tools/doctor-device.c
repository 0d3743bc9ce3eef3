// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: the node, who may open it, whether a timer expires, and the limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <twheel.h>

#include "contexts.h"
#include "device.h"
#include "doctor.h"
#include "duration.h"
#include "names.h"
#include "root.h"

/* How long the timer takes that is armed for a trial, and how long it is waited for. */
#define TRIAL_NS	NSEC_PER_MSEC
#define TRIAL_LIMIT_MS	5000

#define PARAMETERS	"/sys/module/twheel/parameters/"

/* What to do in a container or a service that has not got the device. */
static const char pass_it_on[] =
	"docker, podman: --device=/dev/twheel; systemd: DeviceAllow=/dev/twheel rw, BindPaths=";

/* What to do about a seccomp filter. */
static const char let_pass[] =
	"a seccomp filter has to let pass openat, ioctl, mmap, read, preadv2, write, poll, ppoll";

/* What to do about a module or a program that is too old. */
static const char one_release[] =
	"the module is older than this tool: install and load the one that goes with it";

/* What to do if a process has no room for another descriptor. */
static const char more_files[] =
	"raise the limit of open files: ulimit -n, or LimitNOFILE= of a service";

/* Is nine tenths of a limit used? */
static bool is_near(uint64_t used, uint64_t limit)
{
	return used >= limit - limit / 10;
}

static void node_is_missing(struct doctor *doctor)
{
	char line[32];

	if (!doctor->loaded) {
		doctor_find(doctor, STATE_NOTE, "node",
			    TWHEEL_DEVICE " is not there, as the module is not loaded");
		return;
	}
	doctor_find(doctor, STATE_WRONG, "node",
		    TWHEEL_DEVICE " is not there, although the module is loaded");
	root_line("/sys/class/misc/twheel/dev", line, sizeof(line));
	if (*doctor->container)
		doctor_advise(doctor, "%s", pass_it_on);
	else if (*line)
		doctor_advise(doctor,
			      "in a service see PrivateDevices=; "
			      "else mount devtmpfs, or: sudo mknod -m 666 /dev/twheel c %.*s %s",
			      (int)strcspn(line, ":"), line, line + strcspn(line, ":") + 1);
	else
		doctor_advise(doctor,
			      "in a service see PrivateDevices=; else mount devtmpfs on /dev");
}

void doctor_node(struct doctor *doctor)
{
	char user[NAME_SIZE], group[NAME_SIZE], path[ROOT_PATH];
	struct stat node;
	dev_t number;

	if (stat(root_path(path, TWHEEL_DEVICE), &node)) {
		node_is_missing(doctor);
		return;
	}
	if (!S_ISCHR(node.st_mode)) {
		doctor_find(doctor, STATE_WRONG, "node", TWHEEL_DEVICE " is not a device");
		doctor_advise(doctor, "sudo rm " TWHEEL_DEVICE ", then load the module anew");
	} else if (!doctor->loaded) {
		doctor_find(doctor, STATE_NOTE, "node",
			    TWHEEL_DEVICE " is left over, as the module is not loaded");
	} else if (!device_number(&number) && number != node.st_rdev) {
		doctor_find(doctor, STATE_WRONG, "node",
			    TWHEEL_DEVICE " is device %u:%u, but twheel is %u:%u now",
			    major(node.st_rdev), minor(node.st_rdev), major(number),
			    minor(number));
		doctor_advise(doctor, "the number changes when the module is loaded anew: %s",
			      *doctor->container ? "start the container again" :
			      "remove the node, and have udev or devtmpfs make it");
	} else {
		doctor_find(doctor, STATE_OK, "node",
			    TWHEEL_DEVICE ", owner %s, group %s, mode %04o",
			    user_name(user, node.st_uid), group_name(group, node.st_gid),
			    (unsigned int)node.st_mode & 07777);
	}
}

/* Is a seccomp filter in force, which may make a call fail with any error? */
static bool filtered(void)
{
	char mode[8];

	return root_field("/proc/self/status", "Seccomp", mode, sizeof(mode)) && *mode == '2';
}

/* Say what to do if this process may not open the node. */
static void advise_permission(struct doctor *doctor, const char *path)
{
	char group[NAME_SIZE];
	struct statvfs fs;
	struct stat node;

	if (!statvfs(path, &fs) && fs.f_flag & ST_NODEV)
		doctor_advise(doctor,
			      "its file system is mounted nodev: mount it without that");
	else if (!stat(path, &node) && (node.st_mode & 060) == 060 && node.st_gid)
		doctor_advise(doctor,
			      "join its group: sudo usermod -aG %s USER, then log in again",
			      group_name(group, node.st_gid));
	else
		doctor_advise(doctor,
			      "a udev rule gives it another mode: KERNEL==\"twheel\", MODE=\"0666\"");
}

static void explain_failure(struct doctor *doctor, const char *path, int err)
{
	char user[NAME_SIZE];

	doctor_find(doctor, STATE_WRONG, "open", "user %s cannot open " TWHEEL_DEVICE ": %s",
		    user_name(user, geteuid()), strerror(err));
	switch (err) {
	case EACCES:
		advise_permission(doctor, path);
		break;
	case EPERM:
		doctor_advise(doctor, "a device cgroup%s forbids it: %s",
			      filtered() ? " or a seccomp filter" : "", pass_it_on);
		break;
	case ENXIO:
	case ENODEV:
		doctor_advise(doctor,
			      "it is of a device that is gone: remove it, and load the module");
		break;
	case ENOTTY:
		doctor_advise(doctor,
			      "it is some other device: remove it, and load the module anew%s",
			      filtered() ? "; or a seccomp filter forbids ioctl()" : "");
		break;
	case EPROTONOSUPPORT:
		doctor_advise(doctor, "%s", one_release);
		break;
	case EMFILE:
		doctor_advise(doctor, "%s", more_files);
		break;
	default:
		if (filtered())
			doctor_advise(doctor, "%s", let_pass);
		break;
	}
}

static void look_at_interface(struct doctor *doctor, const struct twheel_info *info)
{
	uint64_t known = 0;
	size_t i;

	for (i = 0; feature_names[i].bit; i++)
		known |= feature_names[i].bit;
	if (info->abi_version != TWHEEL_ABI_VERSION || known & ~info->features) {
		doctor_find(doctor, STATE_WRONG, "interface",
			    "version %" PRIu32 ", features %#" PRIx64
			    "; this tool knows version %u, features %#" PRIx64,
			    info->abi_version, (uint64_t)info->features, TWHEEL_ABI_VERSION,
			    known);
		doctor_advise(doctor, "%s", one_release);
	} else {
		doctor_find(doctor, STATE_OK, "interface",
			    "version %" PRIu32 ", all %zu features%s", info->abi_version, i,
			    info->features & ~known ? ", and some that are newer" : "");
	}
}

/* Arm a timer, and read its expiration. Returns how late it was, or -errno. */
static int64_t try_timer(struct twheel *tw)
{
	struct pollfd pollfd = { .fd = twheel_fd(tw), .events = POLLIN };
	struct twheel_arm arm = { .expires = TRIAL_NS };
	struct twheel_event event;
	ssize_t n;

	n = twheel_arm(tw, &arm);
	if (n)
		return n;
	if (poll(&pollfd, 1, TRIAL_LIMIT_MS) < 0)
		return -errno;
	n = twheel_read(tw, &event, 1);
	if (n < 1)
		return n == -EAGAIN || !n ? -ETIME : n;
	if (event.expired < event.deadline)
		return -ERANGE;
	return (int64_t)(event.expired - event.deadline);
}

static void look_at_timer(struct doctor *doctor, struct twheel *tw)
{
	int64_t late = try_timer(tw);
	char text[DURATION_SIZE];

	if (late >= 0) {
		doctor_find(doctor, STATE_OK, "timer", "one of 1 ms has expired, %s late",
			    duration_format(text, (uint64_t)late));
		return;
	}
	if (late == -ERANGE)
		doctor_find(doctor, STATE_WRONG, "timer", "one of 1 ms has expired too early");
	else
		doctor_find(doctor, STATE_WRONG, "timer", "one of 1 ms has not expired: %s",
			    strerror((int)-late));
	if (late == -EDQUOT || late == -ENOSPC)
		doctor_advise(doctor, "a limit is reached: see below");
	else if (late == -ENOMEM)
		doctor_advise(doctor,
			      "its memory cgroup is full: raise memory.max or MemoryMax=");
	else if (filtered())
		doctor_advise(doctor, "%s", let_pass);
	else
		doctor_advise(doctor, "a fault of twheel: report it, with the log");
}

/* Which context of those that can be looked at has come nearest to its limit? */
static void look_at_contexts(struct doctor *doctor)
{
	const struct context *fullest = NULL;
	struct contexts contexts;
	uint64_t most = 0;
	size_t i;

	if (contexts_read(&contexts))
		return;
	for (i = 0; i < contexts.n; i++) {
		const struct context *context = &contexts.all[i];
		uint64_t timers = context->pending + context->ready;

		if (!context->slot && is_near(timers, context->limit) && timers >= most) {
			fullest = context;
			most = timers;
		}
	}
	if (fullest) {
		doctor_find(doctor, STATE_NOTE, "limits",
			    "descriptor %d of process %d (%s) has %" PRIu64
			    " of %" PRIu64 " timers",
			    fullest->holders[0].fd, (int)fullest->holders[0].pid,
			    fullest->holders[0].command, most, fullest->limit);
		doctor_advise(doctor,
			      "raise its twheel_config.limit, or " PARAMETERS "max_fd_timers");
	}
	contexts_free(&contexts);
}

static void look_at_limits(struct doctor *doctor, const struct twheel_info *info)
{
	bool raise;

	raise = is_near(info->user_timers, info->user_limit);
	doctor_find(doctor, !info->limit || info->user_timers >= info->user_limit ? STATE_WRONG :
		    raise ? STATE_NOTE : STATE_OK, "limits",
		    "you have %" PRIu64 " of %" PRIu64 " timers, a context at most %" PRIu64,
		    (uint64_t)info->user_timers, (uint64_t)info->user_limit,
		    (uint64_t)info->limit);
	if (!info->limit)
		doctor_advise(doctor,
			      "raise " PARAMETERS "max_fd_timers: 0 allows no new timers");
	else if (raise)
		doctor_advise(doctor,
			      "'twheel ps' shows who has them; "
			      "to allow N: echo N | sudo tee " PARAMETERS "max_user_timers");
	look_at_contexts(doctor);
}

void doctor_device(struct doctor *doctor)
{
	char path[ROOT_PATH];
	struct twheel_info info;
	struct twheel *tw;
	int ret;

	if (filtered())
		doctor_find(doctor, STATE_NOTE, "seccomp",
			    "a seccomp filter is in force here, which may forbid calls");
	root_path(path, TWHEEL_DEVICE);
	if (access(path, F_OK) || !doctor->loaded)
		return;
	/* The path is explicit, so this is the device, and no wheel in the process. */
	ret = twheel_open(&tw, path, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, NULL);
	if (!ret)
		ret = twheel_get_info(tw, 0, &info);
	if (ret) {
		explain_failure(doctor, path, -ret);
		return;
	}
	look_at_interface(doctor, &info);
	look_at_timer(doctor, tw);
	look_at_limits(doctor, &info);
	twheel_close(tw);
}

/* Does twheel_open() give programs a wheel in the process, as far as that can be told? */
static bool get_process(void)
{
	char path[ROOT_PATH];
	int fd;

	if (backend_is("embedded"))
		return true;
	if (backend_is("device") || backend_misspelt())
		return false;
	fd = open(root_path(path, TWHEEL_DEVICE), O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == ENOENT || errno == ENODEV);
}

void doctor_process(struct doctor *doctor)
{
	struct twheel *tw;
	int ret;

	if (!get_process())
		return;
	ret = twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC |
			  TWHEEL_OPEN_EMBEDDED, NULL);
	if (ret) {
		doctor_find(doctor, STATE_WRONG, "process",
			    "programs use a wheel in the process, which cannot be made: %s",
			    strerror(-ret));
		if (ret == -EMFILE)
			doctor_advise(doctor, "%s", more_files);
		else if (filtered())
			doctor_advise(doctor,
				      "a seccomp filter is in force: let it pass timerfd, eventfd, epoll");
		return;
	}
	doctor->process = true;
	doctor_find(doctor, STATE_OK, "process",
		    "programs use a wheel in the process, which needs no module");
	if (!doctor->loaded)
		doctor_advise(doctor,
			      "for the device, which processes share, see what the notes advise");
	look_at_timer(doctor, tw);
	twheel_close(tw);
}
