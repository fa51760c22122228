import { Injectable } from '@nestjs/common';
import { phase, ServiceWorkflow, wait, type Next, type ServiceSaga, type Stored, type Wake } from '@engine/saga.js';
import { platformContext, type ServiceIdentity } from '@engine/service-identity.js';
import { maintenance, nodeSweep, type NodeSweepCursor } from './node-sweep.js';
import { SweepNodes } from './phases/sweep-nodes.js';

/** Takes the rows of killed processes away, again and again; it never ends. */
@Injectable()
@ServiceWorkflow(maintenance.service, nodeSweep.name, { version: nodeSweep.version })
export class NodeSweepSaga implements ServiceSaga<NodeSweepCursor> {
  next({ cursor }: Stored<NodeSweepCursor>, wake: Wake): Next {
    return cursor.nextAt !== null && wake.now.getTime() < cursor.nextAt ? wait({ until: new Date(cursor.nextAt) }) : phase(SweepNodes);
  }

  mayAct({ service, context }: ServiceIdentity): Promise<boolean> {
    return Promise.resolve(service === maintenance.service && context.organizationId === platformContext.organizationId);
  }
}
