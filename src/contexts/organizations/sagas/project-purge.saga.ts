import { Injectable } from '@nestjs/common';
import { end, phase, ServiceWorkflow, wait, type Next, type ServiceSaga, type Stored, type Wake } from '@engine/saga.js';
import type { ServiceIdentity } from '@engine/service-identity.js';
import { DropProject } from './phases/drop-project.js';
import { PurgeRows } from './phases/purge-rows.js';
import { RemoveObjects } from './phases/remove-objects.js';
import { StopProjectWork } from './phases/stop-project-work.js';
import { projectPurge, projects, type ProjectPurgeCursor } from './project-purge.js';

/** Removes a project with everything in it: what runs there first, then objects, rows, and the project itself. */
@Injectable()
@ServiceWorkflow('projects', projectPurge.name, { version: projectPurge.version })
export class ProjectPurgeSaga implements ServiceSaga<ProjectPurgeCursor> {
  next({ cursor }: Stored<ProjectPurgeCursor>, wake: Wake): Next {
    if (cursor.nextAt !== null && wake.now.getTime() < cursor.nextAt) return wait({ until: new Date(cursor.nextAt) });
    switch (cursor.stage) {
      case 'work':
        return phase(StopProjectWork);
      case 'objects':
      case 'leftovers':
        return phase(RemoveObjects);
      case 'rows':
        return phase(PurgeRows);
      case 'project':
        return phase(DropProject);
      case 'done':
        return end('completed');
    }
  }

  mayAct({ service, context }: ServiceIdentity): Promise<boolean> {
    const own = projects(context.organizationId);
    return Promise.resolve(service === own.service && context.projectId === own.context.projectId);
  }
}
